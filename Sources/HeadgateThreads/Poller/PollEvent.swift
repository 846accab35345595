/// The events of a file descriptor that a thread is interested in.
package struct PollInterest: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = PollInterest(rawValue: 1)
  package static let write = PollInterest(rawValue: 2)
}

/// An event of a descriptor. `closed` means a hang-up or an error; reading or writing tells which.
package struct PollEvent: Sendable {
  package let descriptor: Int32
  package let readable: Bool
  package let writable: Bool
  package let closed: Bool
}

/// Why a poller could not be created: the system's error number. Usually the process has no descriptors left.
package struct PollerError: Error, Sendable {
  package let errno: Int32
}
