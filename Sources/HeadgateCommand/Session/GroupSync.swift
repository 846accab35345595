import HeadgateThreads

/// Writes and syncs for many callers together: one system call serves all callers that are waiting.
final class GroupSync: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var waiters: [Waiter] = []
    var isScheduled = false
    var failure: SystemError?
  }

  private struct Waiter {
    let isForDisk: Bool
    let work: Work
    let continuation: CheckedContinuation<SystemError?, Never>
  }

  typealias Work = @Sendable () throws(SystemError) -> Void

  private let descriptor: Int32
  private let lane: SerialLane
  private let state = Locked(State())

  /// - Parameter descriptor: A file or a folder. It is closed with this object.
  init(_ descriptor: Int32, on crew: LaneCrew) {
    self.descriptor = descriptor
    lane = SerialLane(on: crew)
  }

  deinit { Descriptor.close(descriptor) }

  /// The first error. Nothing is written after it.
  var failure: SystemError? { state.withLock { $0.failure } }

  /// Writes a line after all earlier ones. Returns at once.
  func add(_ line: String) { enqueue(line, nil) }

  /// Writes a line, and returns once the system has it, so that it survives the end of the process.
  func write(_ line: String) async throws(SystemError) { try await wait(line, forDisk: false) {} }

  /// Writes a line, and returns once it and all earlier lines are on disk.
  func sync(_ line: String) async throws(SystemError) { try await wait(line, forDisk: true) {} }

  /// Does some work, and returns once the changes that it made in the folder are on disk. If the work fails, only its
  /// caller gets the error.
  func sync(after work: @escaping Work) async throws(SystemError) { try await wait("", forDisk: true, work) }

  /// Lets another run lock the file. Call it after the last write: the object may live on for a while in a task that ends.
  func unlock() { Descriptor.unlock(descriptor) }

  private func wait(_ line: String, forDisk: Bool, _ work: @escaping Work) async throws(SystemError) {
    let error = await withContinuation { (continuation: CheckedContinuation<SystemError?, Never>) in
      enqueue(line, Waiter(isForDisk: forDisk, work: work, continuation: continuation))
    }
    if let error { throw error }
  }

  private func enqueue(_ line: String, _ waiter: Waiter?) {
    let mustSchedule = state.withLock { state in
      state.bytes += line.utf8
      if let waiter { state.waiters.append(waiter) }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { lane.run { [self] in drain() } }
  }

  private func drain() {
    let (bytes, waiters, failure) = state.withLock { state in
      defer { (state.bytes, state.waiters, state.isScheduled) = ([], [], false) }
      return (state.bytes, state.waiters, state.failure)
    }
    var error = failure
    let own = waiters.map { failure ?? Self.error(of: $0.work) }
    if error == nil {
      do throws(SystemError) {
        if !bytes.isEmpty { try Descriptor.write(bytes, to: descriptor) }
        if waiters.contains(where: \.isForDisk) { try Descriptor.sync(descriptor) }
      } catch let problem {
        error = problem
        state.withLock { $0.failure = problem }
      }
    }
    for (waiter, own) in zip(waiters, own) { waiter.continuation.resume(returning: own ?? error) }
  }

  private static func error(of work: Work) -> SystemError? {
    do throws(SystemError) { try work() } catch { return error }
    return nil
  }
}
