// A thread's life as a state machine: not started, starting, running, its body ended, ended; and beside it who gets its
// end: open, somebody joins, joined, detached. Everything is decided under the lock; the system's calls come after it.
// The rules of detaching and joining are those of POSIX (pthread_join, pthread_detach), with an error for what POSIX
// leaves undefined.

import CHeadgate

/// What a thread is to this library, without the type of its result.
// Unchecked: `refusal` and `isPlain` are written by the starting thread, before the new one exists and after that has told
// it something; all else is locked or constant.
@usableFromInline final class ThreadCore: @unchecked Sendable {
  enum Phase {
    case notStarted, starting, running, bodyEnded, ended
  }

  /// Who gets the thread's end.
  enum Claim {
    case open, joining, joined, detached
  }

  struct State {
    var phase = Phase.notStarted
    var claim = Claim.open
    var attributes: ThreadAttributes
    // The system's thread, from `running` on.
    var thread: UInt = 0
    var joiner: Waiter?
  }

  let record: ThreadRecord
  let state: Locked<State>
  @usableFromInline let work: ThreadWork
  private let role: Int32
  private var refusal: PriorityRefusal?
  // Neither name nor priority: the thread need not look at its attributes.
  private var isPlain = true

  /// - Parameter serves: Whether others wait for what the thread does.
  @usableFromInline
  init(_ attributes: ThreadAttributes, serves: Bool = false, _ work: ThreadWork) {
    record = ThreadRecord(name: attributes.name)
    role = Int32(serves ? headgate_role_service : headgate_role_own)
    state = Locked(State(claim: attributes.isDetached ? .detached : .open, attributes: attributes))
    self.work = work
    record.core = self
  }

  deinit { work.discard(work.memory, true) }

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

  /// Starts the thread. When that fails it counts as not started, and can be started again.
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
      let mustDetach = becomeRunning(thread)
      if mustDetach { headgate_thread_detach(thread) }
    } catch {
      state.withLock { $0.phase = .notStarted }
      throw error
    }
  }

  private func create(_ attributes: ThreadAttributes) throws(ThreadError) -> UInt {
    var wanted = headgate_thread_attributes()
    wanted.stack = try attributes.roundedStackSize()
    wanted.detached = attributes.isDetached ? 1 : 0
    wanted.quality = attributes.priority.creationQuality
    let refusal = attributes.priority.isSetFromInside ? PriorityRefusal() : nil
    self.refusal = refusal
    isPlain = refusal == nil && attributes.name.isEmpty
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
    // The thread has read it by now.
    self.refusal = nil
    guard errno == 0 else {
      if !attributes.isDetached { headgate_thread_join(thread) }
      throw ThreadError(.priorityRefused, errno: errno, name: attributes.name)
    }
    return thread
  }

  /// The starter and the new thread both come here: the body may tell others of the thread, who may join it, before the
  /// starter runs again. True if the caller must detach the system's thread.
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
    headgate_thread_set_role(role)
    record.becomeCurrent()
    guard isPlain || setUp() else { return }
    let here = headgate_thread_self()
    if becomeRunning(here) { headgate_thread_detach(here) }
    HeadgateLog.note(.thread, "thread \"\(record.name)\" starts")
    withAutoreleasePool { work.run(work.memory) }
    finish()
  }

  /// Takes its name and its priority. False: the system refuses that, and the thread is not to be.
  private func setUp() -> Bool {
    let attributes = self.attributes
    if !attributes.name.isEmpty { systemThreadName(attributes.name).withCString { headgate_thread_name($0) } }
    guard let refusal else { return true }
    let errno = record.withSystemThread { attributes.priority.apply(to: $0) } ?? 0
    if errno != 0 { record.end() }
    refusal.tell(errno)
    return errno == 0
  }

  /// The thread left through `pthread_exit`: there is no outcome, but whoever waits for one must be told.
  func endWithoutReturning() {
    HeadgateLog.warn(.thread, "thread \"\(record.name)\" left through pthread_exit; what its body held is leaked")
    finish()
  }

  private func finish() {
    HeadgateLog.note(.thread, "thread \"\(record.name)\" ends")
    record.core = nil
    let isDetached = state.withLock { state in
      state.phase = .bodyEnded
      return state.claim == .detached
    }
    if isDetached { letGo() }
    record.end()
    let joiner = state.withLock { state -> Waiter? in
      state.phase = .ended
      guard let joiner = state.joiner.take(), joiner.claim(.woken) else { return nil }
      return joiner
    }
    joiner?.wake()
  }

  /// Nobody will join: an error goes to its handler, a result to nobody. On the thread itself, or later on whoever
  /// detaches it.
  private func letGo() {
    if let failure = work.failure(work.memory) {
      UncaughtErrors.report(failure, of: ThreadHandle(record), to: attributes.onUncaughtError)
    }
    work.discard(work.memory, false)
  }

  // MARK: Detaching

  /// Gives up the thread's end. Nil, or why not.
  func detach() -> JoinErrorCode? {
    let (code, mustLetGo, thread) = state.withLock { state -> (JoinErrorCode?, Bool, UInt?) in
      switch state.claim {
      case .joining, .joined: return (.alreadyJoined, false, nil)
      case .detached: return (.detached, false, nil)
      case .open:
        state.claim = .detached
        switch state.phase {
        case .notStarted:
          state.attributes.isDetached = true
          return (nil, false, nil)
        case .starting: return (nil, false, nil)
        case .running: return (nil, false, state.thread)
        case .bodyEnded, .ended: return (nil, true, state.thread)
        }
      }
    }
    if let thread { headgate_thread_detach(thread) }
    if mustLetGo { letGo() }
    return code
  }

  /// The last handle goes. A thread that was never started leaves nothing behind.
  @usableFromInline
  func handleGoes() {
    let isForgotten = state.withLock { $0.claim == .open && $0.phase != .notStarted }
    guard isForgotten, detach() == nil else { return }
    HeadgateLog.warn(
      .thread,
      "thread \"\(record.name)\": its handle went before anybody joined it, so it was detached; "
        + "join it, or start it detached")
  }
}

/// Tells the starter of a thread whether the system granted the priority, before the body runs.
private final class PriorityRefusal: Sendable {
  private let answer = Locked<Int32>(0)
  private let parker = Parker()

  func tell(_ errno: Int32) {
    answer.withLock { $0 = errno }
    parker.unpark()
  }

  func wait() -> Int32 {
    while !parker.park() {}
    return answer.withLock { $0 }
  }
}
