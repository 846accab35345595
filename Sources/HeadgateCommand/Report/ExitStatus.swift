/// The exit status of the process.
struct ExitStatus: RawRepresentable, Hashable, Sendable {
  let rawValue: Int32

  /// Success.
  static let ok = ExitStatus(rawValue: 0)
  /// Failures of more than one class.
  static let mixed = ExitStatus(rawValue: 1)
  /// An invalid option, argument or line of a list.
  static let usage = ExitStatus(rawValue: 2)
  /// Files, folders, the output, or another resource of the system.
  static let file = ExitStatus(rawValue: 3)
  /// Names, connections, broken or too large responses.
  static let network = ExitStatus(rawValue: 4)
  /// Certificates and handshakes.
  static let tls = ExitStatus(rawValue: 5)
  /// A limit on time or speed.
  static let time = ExitStatus(rawValue: 6)
  /// An HTTP error status, or a redirect that is not followed.
  static let http = ExitStatus(rawValue: 8)
  /// Something was sent that must not be sent twice, and its outcome is unknown.
  static let unknownOutcome = ExitStatus(rawValue: 9)
  /// Nothing failed but what hosts refuse for now: try again later, as in EX_TEMPFAIL of sysexits.h.
  static let refusing = ExitStatus(rawValue: 75)
  /// SIGINT or SIGTERM.
  static let interrupted = ExitStatus(rawValue: 130)
}
