import HeadgateLibC

/// A failed system call, described for people.
struct SystemFailure: Error, Hashable, CustomStringConvertible {
  let number: Int32
  let action: String

  init(_ action: String, _ number: Int32 = errno) { (self.action, self.number) = (action, number) }

  /// `can't create /tmp/headgate-1000: Permission denied`.
  var description: String { "can't \(action): \(String(cString: strerror(number)))" }
}
