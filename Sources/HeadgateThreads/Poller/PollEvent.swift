/// What a thread wants to hear of a file descriptor.
package struct PollInterest: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = PollInterest(rawValue: 1)
  package static let write = PollInterest(rawValue: 2)
}

/// What it heard. `closed` stands for a hang-up or an error: reading or writing will tell which.
package struct PollEvent: Sendable {
  package let descriptor: Int32
  package let readable: Bool
  package let writable: Bool
  package let closed: Bool
}

/// Why a poller could not be made: the system's error number, most often that there are no descriptors left.
package struct PollerError: Error, Sendable {
  package let errno: Int32
}
