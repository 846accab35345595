import HeadgateThreads

/// A gate that a test opens once. Opening it resumes all waiting callers; later callers do not wait.
///
/// Use one gate for each step of an interleaving, to wait for events rather than for time to pass.
public final class Gate: Sendable {
  private let opening = OneShot<Void>()
  private let name: String

  /// Creates a closed gate.
  ///
  /// - Parameters:
  ///   - fileID: The file that errors show.
  ///   - line: Its line.
  public convenience init(fileID: String = #fileID, line: Int = #line) { self.init("the gate of \(fileID):\(line)") }

  init(_ name: String) { self.name = name }

  /// Whether the gate is open.
  public var isOpen: Bool { opening.value != nil }

  /// Opens the gate permanently. Thread-safe; a second call does nothing.
  public func open() { opening.set() }

  /// Suspends until the gate is open. An open gate lets a cancelled task pass too.
  ///
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled: it says where the gate was created.
  public func wait() async throws(WaitError) {
    let waiter = Waiter.ofTask()
    opening.whenSet { _ in waiter.end(.woken) }
    try await waiter.waitInTest { "wait for \(name)" }
  }

  /// Suspends until the gate is open, even if the task is cancelled: for code under test that ignores cancellations.
  package func waitRegardless() async { await opening.wait() }

  /// Blocks the thread until the gate is open or the deadline passes. Returns true if it is open.
  @available(*, noasync)
  public func wait(until deadline: Deadline) -> Bool { opening.wait(until: deadline) != nil }
}

extension Waiter {
  /// Suspends a test until it is woken. If its task is cancelled, usually by a time limit, the error says what it
  /// waited for: a `CancellationError` would not help to find the fault.
  func waitInTest(_ operation: () -> String) async throws(WaitError) {
    let start = Deadline.now
    guard await wait(until: .distantFuture) == .woken else {
      throw WaitError(.cancelled, operation: operation(), waited: .now - start)
    }
  }
}
