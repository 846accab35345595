/// What a thread runs and what that leaves, behind a face that knows neither type: what spawning and joining cost beside
/// the system's own calls is mostly generic code that the caller's compiler could not specialize, so all of that is here,
/// inlinable, and the machinery round it is not generic.
// Unchecked: the memory is touched by whoever makes it, then by the thread until its body counts as ended, then by whoever
// won the claim on its end; the core's lock lies between any two. The rest is constant.
@usableFromInline struct ThreadWork: @unchecked Sendable {
  @usableFromInline let memory: UnsafeMutableRawPointer

  /// Runs the body and lets go of it.
  @usableFromInline let run: (UnsafeMutableRawPointer) -> Void

  /// The error that the body threw; nil before its end.
  @usableFromInline let failure: (UnsafeMutableRawPointer) -> (any Error)?

  /// Lets go of what is left, body or outcome; then of the memory, if asked to.
  @usableFromInline let discard: (UnsafeMutableRawPointer, _ free: Bool) -> Void

  @inlinable
  init<Value, Failure: Error>(_ body: sending @escaping () throws(Failure) -> sending Value) {
    typealias Content = ThreadWorkContent<Value, Failure>
    let content = UnsafeMutablePointer<Content>.allocate(capacity: 1)
    content.initialize(to: .body(ThreadBody(run: body)))
    memory = UnsafeMutableRawPointer(content)
    run = { memory in
      let content = memory.assumingMemoryBound(to: Content.self)
      // Out of the memory, so that what the body holds goes on this thread, and before the end is told.
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

  /// The outcome, for whoever won the claim on it; nil if the body never returned.
  @inlinable
  func takeOutcome<Value, Failure: Error>(
    _ type: Swift.Result<Value, Failure>.Type
  ) -> sending Swift.Result<Value, Failure>? {
    let content = memory.assumingMemoryBound(to: ThreadWorkContent<Value, Failure>.self)
    // Unsafe: it leaves the memory for good, with whoever won the claim, and nobody else can look at it there.
    nonisolated(unsafe) let taken = content.move()
    content.initialize(to: .nothing)
    if case .outcome(let outcome) = taken { return outcome } else { return nil }
  }
}

@usableFromInline
enum ThreadWorkContent<Value, Failure: Error> {
  case body(ThreadBody<Value, Failure>)
  case outcome(Swift.Result<Value, Failure>)
  case nothing
}

// A struct, because a bare function type in raw memory is miscompiled by Swift 6.3 in release builds.
@usableFromInline
struct ThreadBody<Value, Failure: Error> {
  @usableFromInline let run: () throws(Failure) -> sending Value

  @inlinable init(run: @escaping () throws(Failure) -> sending Value) { self.run = run }
}
