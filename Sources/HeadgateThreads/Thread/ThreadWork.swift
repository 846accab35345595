/// A thread's body and outcome behind a type-erased interface. Most of the cost of spawning and joining, apart from the
/// system's own calls, is generic code that the caller's compiler could not specialize. So all generic code is here and
/// inlinable, and the machinery around it is not generic.
// Unchecked: the memory is accessed by its creator, then by the thread until its body counts as ended, then by the
// winner of the claim on its end. The core's lock orders each with the next. The rest is constant.
@usableFromInline struct ThreadWork: @unchecked Sendable {
  @usableFromInline let memory: UnsafeMutableRawPointer

  /// Runs the body and releases it.
  @usableFromInline let run: (UnsafeMutableRawPointer) -> Void

  /// The error that the body threw; nil before its end.
  @usableFromInline let failure: (UnsafeMutableRawPointer) -> (any Error)?

  /// Releases the remaining content, body or outcome, and optionally frees the memory.
  @usableFromInline let discard: (UnsafeMutableRawPointer, _ free: Bool) -> Void

  @inlinable
  init<Value, Failure: Error>(_ body: sending @escaping () throws(Failure) -> sending Value) {
    typealias Content = ThreadWorkContent<Value, Failure>
    let content = UnsafeMutablePointer<Content>.allocate(capacity: 1)
    content.initialize(to: .body(ThreadBody(run: body)))
    memory = UnsafeMutableRawPointer(content)
    run = { memory in
      let content = memory.assumingMemoryBound(to: Content.self)
      // Moved out of the memory, so that the body's captures are released on this thread and before the end is
      // announced.
      guard case .body(let body) = content.move() else { return content.initialize(to: .nothing) }
      content.initialize(to: .nothing)
      do throws(Failure) {
        content.pointee = .outcome(.success(try body.run()))
      } catch {
        content.pointee = .outcome(.failure(error))
      }
    }
    failure = { memory in
      if case .outcome(.failure(let failure)) = memory.assumingMemoryBound(to: Content.self).pointee {
        failure
      } else {
        nil
      }
    }
    discard = { memory, free in
      let content = memory.assumingMemoryBound(to: Content.self)
      let rest = content.move()
      if free { content.deallocate() } else { content.initialize(to: .nothing) }
      _ = consume rest
    }
  }

  /// The outcome, for the winner of the claim; nil if the body never returned.
  @inlinable
  func takeOutcome<Value, Failure: Error>(
    _ type: Result<Value, Failure>.Type
  ) -> sending Result<Value, Failure>? {
    let content = memory.assumingMemoryBound(to: ThreadWorkContent<Value, Failure>.self)
    // Unsafe: the value leaves the memory for good with the winner of the claim; no other thread accesses it there.
    nonisolated(unsafe) let taken = content.move()
    content.initialize(to: .nothing)
    if case .outcome(let outcome) = taken { return outcome } else { return nil }
  }
}

@usableFromInline
enum ThreadWorkContent<Value, Failure: Error> {
  case body(ThreadBody<Value, Failure>)
  case outcome(Result<Value, Failure>)
  case nothing
}

// A struct, because a bare function type in raw memory is miscompiled by Swift 6.3 in release builds.
@usableFromInline
struct ThreadBody<Value, Failure: Error> {
  @usableFromInline let run: () throws(Failure) -> sending Value

  @inlinable init(run: @escaping () throws(Failure) -> sending Value) { self.run = run }
}
