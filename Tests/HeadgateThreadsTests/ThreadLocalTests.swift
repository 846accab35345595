import Testing

@testable import HeadgateThreads

@Suite struct ThreadLocalTests {
  @Test("Each thread has its own value, made on first use")
  func own() async throws {
    let made = LockedBox(0)
    let local = ThreadLocal { () -> Int in
      made.withLock { $0 += 1 }
      return 10
    }
    let values = try await onThread {
      let other = try ManagedThread.spawn {
        local.value += 5
        return local.value
      }
      let before = local.hasValue
      local.value += 1
      local.withValue { $0 += 1 }
      return (before, local.value, local.hasValue, try other.join())
    }
    #expect(values == (false, 12, true, 15))
    #expect(made.withLock { $0 } == 2)
  }

  @Test("P34 values are destroyed in reverse order of creation, and may use older ones and the library meanwhile")
  func order() async throws {
    let events = Record<String>()
    let codes = Record<WaitError.Code?>()
    try await onThread {
      let first = ThreadLocal { Named("first", events) {} }
      let second = ThreadLocal {
        Named("second", events) {
          first.withValue { events.add("second sees \($0.name)") }
          ManagedThread.current.unpark()
          codes.add(waitCode { () throws(WaitError) in try ManagedThread.park() })
          codes.add(waitCode { () throws(WaitError) in try ManagedThread.sleep(for: .microseconds(1)) })
          ManagedThread.dictionary["late"] = 1
        }
      }
      let third = ThreadLocal { Named("third", events) { second.withValue { events.add("third sees \($0.name)") } } }
      let thread = try ManagedThread.spawn {
        // Not the order in which the thread-local variables were created.
        for local in [first, second, third] { local.withValue { _ in } }
      }
      try thread.join()
      events.add("joined")
    }
    #expect(events.events == ["third sees second", "third", "second sees first", "second", "first", "joined"])
    #expect(codes.events == [nil, nil])
  }

  @Test("P34 a destructor that makes new values gets them destroyed too; an endless one is stopped")
  func reborn() async throws {
    let count = LockedBox(0)
    try await onThread {
      let again = LockedBox<ThreadLocal<AtExit>?>(nil)
      let local = ThreadLocal {
        AtExit {
          count.withLock { $0 += 1 }
          again.withLock { $0 }?.withValue { _ in }
        }
      }
      again.withLock { $0 = local }
      try ManagedThread.spawn { local.withValue { _ in } }.join()
      again.withLock { $0 = nil }
    }
    #expect(count.withLock { $0 } > 3)
  }

  @Test("A released ThreadLocal leaves its slot to others, which don't see its value")
  func placesAreReused() async throws {
    let census = Census()
    let (values, most) = try await onThread {
      var values: [Int] = []
      var most = 0
      for round in 0..<1_000 {
        let local = ThreadLocal { (round, census.token()) }
        local.withValue { values.append($0.0) }
        most = max(most, census.alive)
      }
      return (values, most)
    }
    #expect(values == Array(0..<1_000))
    // Other tests use slots at the same time, but not a thousand.
    #expect(most < 900)
    #expect(census.alive == 0)
  }

  @Test("A new value that is removed by the old value in its slot, while that is destroyed, is made again")
  func removedByAnOldValue() async throws {
    let made = Record<Int>()
    let value = try await onThread {
      while true {
        let replaced = LockedBox<ThreadLocal<Int>?>(nil)
        var old: ThreadLocal<AtExit>? = ThreadLocal { AtExit { replaced.withLock { $0 }?.removeValue() } }
        old?.withValue { _ in }
        let place = old?.place
        old = nil
        let local = ThreadLocal { () -> Int in
          made.add(1)
          return 7
        }
        // Another thread may have taken the slot.
        guard local.place == place else { continue }
        replaced.withLock { $0 = local }
        return local.value
      }
    }
    #expect(value == 7)
    #expect(made.events.count == 2)
  }

  @Test("removeValue destroys only this thread's value; the next use makes a new one")
  func remove() async throws {
    let census = Census()
    let alive = try await onThread {
      let local = ThreadLocal { census.token() }
      local.removeValue()
      local.withValue { _ in }
      let before = census.alive
      local.removeValue()
      let between = census.alive
      local.withValue { _ in }
      return [before, between, census.alive, local.hasValue ? 1 : 0]
    }
    #expect(alive == [1, 0, 1, 1])
    #expect(census.alive == 0)
  }

  private static func change(_ local: ThreadLocal<Int>, meanwhile: (ThreadLocal<Int>) -> Void) {
    local.withValue { _ in meanwhile(local) }
  }

  @Test("A value that is being changed can't be used or removed: that stops the process")
  func overlap() async {
    await #expect(processExitsWith: .failure) { ThreadLocalTests.change(ThreadLocal { 1 }) { _ = $0.value } }
    await #expect(processExitsWith: .failure) { ThreadLocalTests.change(ThreadLocal { 1 }) { $0.value = 2 } }
    await #expect(processExitsWith: .failure) {
      ThreadLocalTests.change(ThreadLocal { 1 }) { $0.withValue { $0 += 1 } }
    }
    await #expect(processExitsWith: .failure) { ThreadLocalTests.change(ThreadLocal { 1 }) { $0.removeValue() } }
    await #expect(processExitsWith: .success) {
      let other = ThreadLocal { 2 }
      ThreadLocalTests.change(ThreadLocal { 1 }) { _ in other.removeValue() }
    }
  }

  @Test("Values may be functions, large, empty, or noncopyable")
  func kinds() async throws {
    struct Token: ~Copyable {
      var uses = 0
    }
    let results = try await onThread {
      let function = ThreadLocal<@Sendable (Int) -> Int> { { $0 + 1 } }
      function.value = { [old = function.value] in old($0) * 2 }
      let large = ThreadLocal { Array(0..<10_000) }
      large.withValue { $0.append(-1) }
      let empty = ThreadLocal<Void> {}
      empty.value = ()
      let token = ThreadLocal { Token() }
      token.withValue { $0.uses += 1 }
      token.withValue { $0.uses += 1 }
      return [function.value(20), large.value.count, token.withValue { $0.uses }]
    }
    #expect(results == [42, 10_001, 2])
  }

  @Test("A hundred values on one thread are all destroyed, newest first")
  func many() async throws {
    let gone = Record<Int>()
    try await onThread {
      let locals = (0..<100).map { number in ThreadLocal { AtExit { gone.add(number) } } }
      try ManagedThread.spawn { for local in locals.shuffled() { local.withValue { _ in } } }.join()
      #expect(Set(gone.events) == Set(0..<100))
      try ManagedThread.spawn { for local in locals { local.withValue { _ in } } }.join()
    }
    #expect(gone.events.suffix(100) == (0..<100).reversed())
  }

  @Test("The dictionary keeps named values for one thread, until they are removed or the thread ends")
  func dictionary() async throws {
    let census = Census()
    let results = try await onThread {
      var results: [String] = []
      let dictionary = ManagedThread.dictionary
      results.append("\(dictionary["a"] == nil) \(dictionary.names)")
      dictionary["a"] = 1
      dictionary["b", as: String.self] = "two"
      dictionary["token"] = census.token()
      results.append("\(dictionary["a", as: Int.self] ?? 0) \(dictionary["a", as: String.self] ?? "-")")
      let other = try ManagedThread.spawn { ManagedThread.dictionary.names.count }
      results.append("\(dictionary["b", as: String.self] ?? "-") \(dictionary.names.sorted()) \(try other.join())")
      dictionary["token"] = nil
      dictionary["b", as: String.self] = nil
      results.append("\(dictionary.names) \(census.alive)")
      dictionary["token"] = census.token()
      dictionary.removeAll()
      results.append("\(dictionary.names) \(census.alive)")
      dictionary["token"] = census.token()
      return results
    }
    #expect(results == ["true []", "1 -", "two [\"a\", \"b\", \"token\"] 0", "[\"a\"] 0", "[] 0"])
    #expect(census.alive == 0)
  }
}

/// Records its name when it is destroyed, after `first`.
private final class Named: Sendable {
  let name: String
  private let events: Record<String>
  private let first: @Sendable () -> Void

  init(_ name: String, _ events: Record<String>, first: @escaping @Sendable () -> Void) {
    self.name = name
    self.events = events
    self.first = first
  }

  deinit {
    first()
    events.add(name)
  }
}
