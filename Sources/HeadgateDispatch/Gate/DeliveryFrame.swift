import CHeadgate
import HeadgateThreads

/// A gate whose effects the current thread is delivering, on that thread's stack; they form a chain.
///
/// An event that happens inside a delivery (a transport that completes at once, a callback that submits the next
/// request) only changes the gate's state and leaves its effects to the frame below: effects run in a loop, never by
/// recursion, and a million completions need the stack of one.
struct DeliveryFrame {
  private let gate: ObjectIdentifier
  private let parent: UnsafeMutablePointer<DeliveryFrame>?
  /// Something was left here by an event inside the delivery.
  var hasMore = false

  /// Runs `body` with a frame for the gate on top of this thread's chain.
  static func with(_ gate: AnyObject, _ body: (UnsafeMutablePointer<DeliveryFrame>) -> Void) {
    var frame = DeliveryFrame(gate: ObjectIdentifier(gate), parent: top)
    withUnsafeMutablePointer(to: &frame) { pointer in
      // The pointer stays on this thread's chain only until `body`, which does not suspend, has returned.
      headgate_frame_set(pointer)
      body(pointer)
      headgate_frame_set(pointer.pointee.parent)
    }
  }

  /// This thread's frame for a gate, if it is delivering that gate's effects.
  static func find(_ gate: AnyObject) -> UnsafeMutablePointer<DeliveryFrame>? {
    var frame = top
    while let found = frame {
      if found.pointee.gate == ObjectIdentifier(gate) { return found }
      frame = found.pointee.parent
    }
    return nil
  }

  private static var top: UnsafeMutablePointer<DeliveryFrame>? {
    headgate_frame_get()?.assumingMemoryBound(to: DeliveryFrame.self)
  }
}
