import HeadgateThreads

/// A gate that a test opens once. Opening it resumes all waiting callers; later callers do not wait.
///
/// Use one gate for each step of an interleaving, to wait for events rather than for time to pass.
public final class Gate: Sendable {
  private let opening = OneShot<Void>()

  /// Creates a closed gate.
  public init() {}

  /// Whether the gate is open.
  public var isOpen: Bool { opening.value != nil }

  /// Opens the gate permanently. Thread-safe; a second call does nothing.
  public func open() { opening.set() }

  /// Suspends until the gate is open.
  public func wait() async { await opening.wait() }

  /// Blocks the thread until the gate is open or the deadline passes. Returns true if it is open.
  @available(*, noasync)
  public func wait(until deadline: Deadline) -> Bool { opening.wait(until: deadline) != nil }
}
