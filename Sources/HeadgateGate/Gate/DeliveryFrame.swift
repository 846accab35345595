import CHeadgate
import HeadgateThreads

/// Marks that the current thread delivers a gate's effects, or runs foreign code on the gate's behalf. Frames live on
/// the thread's stack and form a chain.
///
/// An event inside a delivery (a transport that completes at once, a callback that submits the next request) only
/// changes the gate's state, and leaves its effects to the frame below. Effects therefore run in a loop, never
/// recursively, and a million completions need no more stack than one.
@usableFromInline
package struct DeliveryFrame {
  private let gate: ObjectIdentifier
  @usableFromInline let parent: UnsafeMutablePointer<DeliveryFrame>?
  // True if the frame delivers effects; false if it only marks a call to foreign code.
  private let delivers: Bool
  /// Set by an event inside the delivery that left effects behind.
  var hasMore = false

  @usableFromInline
  init(_ gate: ObjectIdentifier, delivers: Bool) {
    (self.gate, self.delivers) = (gate, delivers)
    parent = Self.top
  }

  /// Runs `body`, which calls foreign code: a completion, a delegate, a sink. Inside it, calls that block until the
  /// gate makes progress must throw; see ``EndPointGate/checkMayBlock(for:)``.
  ///
  /// Inlinable, because otherwise it is not specialized in the dispatcher's module, which each request would pay for.
  @discardableResult @inlinable
  package static func mark<Value, Failure: Error>(
    _ gate: ObjectIdentifier, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try push(gate, delivers: false) { _ throws(Failure) in try body() }
  }

  /// Runs `body` with a frame for the gate on top of this thread's chain.
  @inlinable
  static func push<Value, Failure: Error>(
    _ gate: ObjectIdentifier, delivers: Bool, _ body: (UnsafeMutablePointer<DeliveryFrame>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var frame = DeliveryFrame(gate, delivers: delivers)
    return try withUnsafeMutablePointer(to: &frame) { pointer throws(Failure) in
      // The pointer stays on this thread's chain only until `body`, which does not suspend, has returned.
      headgate_frame_set(pointer)
      defer { headgate_frame_set(pointer.pointee.parent) }
      return try body(pointer)
    }
  }

  /// This thread's frame for a gate, if it is delivering that gate's effects.
  ///
  /// - Parameter marks: Whether frames count that only mark a call to foreign code.
  static func find(_ gate: ObjectIdentifier, marks: Bool = false) -> UnsafeMutablePointer<DeliveryFrame>? {
    var frame = top
    while let found = frame {
      if found.pointee.delivers || marks, found.pointee.gate == gate { return found }
      frame = found.pointee.parent
    }
    return nil
  }

  private static var top: UnsafeMutablePointer<DeliveryFrame>? {
    headgate_frame_get()?.assumingMemoryBound(to: DeliveryFrame.self)
  }
}
