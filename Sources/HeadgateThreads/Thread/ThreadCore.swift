// A thread's life as a state machine: not started, starting, running, ended. A second state records the claim on its end:
// open, joined, detached. All decisions are made under the lock; system calls are made after it is released. The rules
// for detaching and joining are those of POSIX (pthread_join, pthread_detach), with errors where POSIX leaves the
// behaviour undefined.

import CHeadgate

/// The non-generic state of a thread.
// Unchecked: `refusal` is written only by the starting thread, before the new thread exists and after it has answered.
// Everything else is locked or constant.
@usableFromInline final class ThreadCore: @unchecked Sendable {
  /// `ended` is the end of the body.
  enum Phase {
    case notStarted, starting, running, ended
  }

  /// The claim on the thread's end. A join gives it up if its wait ends first.
  enum Claim {
    case open, joined, detached
  }

  struct State {
    var phase = Phase.notStarted
    var claim = Claim.open
    var attributes: ThreadAttributes
    // The system's thread. Valid from `running` on.
    var thread: UInt = 0
  }

  let record: ThreadRecord
  let state: Locked<State>
  /// Opens when the thread's values are destroyed too. Joins wait for it.
  let ended = Locked(Latch.State(count: 1))
  @usableFromInline let work: ThreadWork
  // Tells the starting thread, before the body runs, whether the system granted the priority: 0 or an error number.
  private var refusal: OneShot<Int32>?

  @usableFromInline
  init(_ attributes: ThreadAttributes, kind: ThreadKind = .program, _ work: ThreadWork) {
    record = ThreadRecord(name: attributes.name, kind: kind)
    state = Locked(State(claim: attributes.isDetached ? .detached : .open, attributes: attributes))
    self.work = work
    record.core = self
  }

  // MARK: Before the start

  var attributes: ThreadAttributes { state.withLock { $0.attributes } }

  func setAttributes(_ attributes: ThreadAttributes) throws(ThreadError) {
    let old = state.withLock { state -> ThreadAttributes? in
      guard state.phase == .notStarted else { return nil }
      defer {
        state.attributes = attributes
        state.claim = attributes.isDetached ? .detached : .open
      }
      return state.attributes
    }
    guard old != nil else { throw ThreadError(.alreadyStarted, name: attributes.name) }
    record.name = attributes.name
  }

  // MARK: The start

  /// Starts the thread. After a failure it counts as not started, and can be started again.
  @usableFromInline
  func start() throws(ThreadError) {
    let (attributes, mayStart) = state.withLock { state in
      let mayStart = state.phase == .notStarted
      if mayStart { state.phase = .starting }
      return (state.attributes, mayStart)
    }
    guard mayStart else { throw ThreadError(.alreadyStarted, name: attributes.name) }
    do throws(ThreadError) {
      let thread = try create(attributes)
      if becomeRunning(thread) { headgate_thread_detach(thread) }
    } catch {
      state.withLock { $0.phase = .notStarted }
      throw error
    }
  }

  private func create(_ attributes: ThreadAttributes) throws(ThreadError) -> UInt {
    var wanted = headgate_thread_attributes()
    wanted.stack = try attributes.roundedStackSize()
    wanted.detached = attributes.isDetached ? 1 : 0
    wanted.blocks_signals = record.kind == .program ? 0 : 1
    wanted.quality = attributes.priority.creationQuality
    let refusal = attributes.priority.isSetFromInside ? OneShot<Int32>() : nil
    self.refusal = refusal
    let context = Unmanaged.passRetained(self)
    var thread: UInt = 0
    let failure = headgate_thread_create(
      &thread, &wanted,
      { context in
        guard let context else { return }
        // Balances `passRetained`: the thread owns its core from its first line on.
        Unmanaged<ThreadCore>.fromOpaque(context).takeRetainedValue().run()
      }, context.toOpaque())
    if failure != 0 {
      context.release()
      throw ThreadError(creating: attributes.name, errno: failure)
    }
    guard let refusal else { return thread }
    let errno = refusal.wait()
    // The thread has read `refusal` by now.
    self.refusal = nil
    guard errno == 0 else {
      if !attributes.isDetached { headgate_thread_join(thread) }
      throw ThreadError(.priorityRefused, errno: errno, name: attributes.name)
    }
    return thread
  }

  /// Called by both the starting and the new thread: the body may publish the handle, and the thread may be joined,
  /// before the starting thread runs again. Returns true if the caller must detach the system's thread.
  private func becomeRunning(_ thread: UInt) -> Bool {
    state.withLock { state in
      guard state.phase == .starting else { return false }
      state.phase = .running
      state.thread = thread
      return state.claim == .detached && !state.attributes.isDetached
    }
  }

  // MARK: On the thread

  private func run() {
    headgate_thread_set_role(Int32(record.kind == .service ? headgate_role_service : headgate_role_own))
    record.becomeCurrent()
    guard setUp() else { return }
    let here = headgate_thread_self()
    if becomeRunning(here) { headgate_thread_detach(here) }
    HeadgateLog.note(.thread, "thread \"\(record.name)\" starts")
    withAutoreleasePool { work.run() }
    finish()
  }

  /// Sets the thread's name and priority. Returns false if the system refuses the priority; the thread must then exit.
  private func setUp() -> Bool {
    let attributes = self.attributes
    if !attributes.name.isEmpty { systemThreadName(attributes.name).withCString { headgate_thread_name($0) } }
    guard let refusal else { return true }
    let errno = record.withSystemThread { attributes.priority.apply(to: $0) } ?? 0
    if errno != 0 { record.end() }
    refusal.set(errno)
    return errno == 0
  }

  /// Called if the thread exits through `pthread_exit`. There is no outcome, and a joiner must be woken.
  func endWithoutReturning() {
    HeadgateLog.warn(.thread, "thread \"\(record.name)\" called pthread_exit; resources held by its body are leaked")
    finish()
  }

  private func finish() {
    HeadgateLog.note(.thread, "thread \"\(record.name)\" ends")
    record.core = nil
    let isDetached = state.withLock { state in
      state.phase = .ended
      return state.claim == .detached
    }
    if isDetached { discardOutcome() }
    record.end()
    for joiner in ended.withLock({ $0.countDown(1) }) { joiner.wake() }
  }

  /// The thread will not be joined: its error goes to the handler, its result is discarded. Runs on the thread itself,
  /// or later on the thread that detaches it.
  private func discardOutcome() {
    if let failure = work.failure {
      UncaughtErrors.report(failure, of: ThreadHandle(record), to: attributes.onUncaughtError)
    }
    work.discard()
  }

  // MARK: Detaching

  /// Gives up the claim on the thread's end. Returns nil on success, otherwise the reason.
  func detach() -> JoinErrorCode? {
    let (code, phase, thread) = state.withLock { state -> (JoinErrorCode?, Phase, UInt) in
      switch state.claim {
      case .joined: return (.alreadyJoined, state.phase, 0)
      case .detached: return (.detached, state.phase, 0)
      case .open:
        state.claim = .detached
        if state.phase == .notStarted { state.attributes.isDetached = true }
        return (nil, state.phase, state.thread)
      }
    }
    if let code { return code }
    if phase == .running || phase == .ended { headgate_thread_detach(thread) }
    if phase == .ended { discardOutcome() }
    return nil
  }

  /// Called when the last handle is released. A thread that was never started leaves nothing behind.
  @usableFromInline
  func handleReleased() {
    let isForgotten = state.withLock { $0.claim == .open && $0.phase != .notStarted }
    guard isForgotten, detach() == nil else { return }
    HeadgateLog.warn(
      .thread,
      "thread \"\(record.name)\": its last handle was released before a join, so it was detached; "
        + "join it, or start it detached")
  }
}
