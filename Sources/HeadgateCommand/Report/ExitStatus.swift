/// What the process says at its end.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
  let rawValue: Int32

  /// All went well.
  static let ok = ExitStatus(rawValue: 0)
  /// Failures of more than one class.
  static let mixed = ExitStatus(rawValue: 1)
  /// A wrong option, argument or line of a list.
  static let usage = ExitStatus(rawValue: 2)
  /// Files, folders, the output, and what else the system refuses.
  static let file = ExitStatus(rawValue: 3)
  /// Names, connections, broken responses, too large ones.
  static let network = ExitStatus(rawValue: 4)
  /// Certificates and handshakes.
  static let tls = ExitStatus(rawValue: 5)
  /// A limit on time or speed.
  static let time = ExitStatus(rawValue: 6)
  /// The server's answer is an error, or a redirect that is not followed.
  static let http = ExitStatus(rawValue: 8)
  /// SIGINT or SIGTERM.
  static let interrupted = ExitStatus(rawValue: 130)
}
