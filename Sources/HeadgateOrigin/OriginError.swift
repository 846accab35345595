import HeadgateThreads

/// Why an ``Origin`` could not start.
public struct OriginError: HeadgateError, Hashable {
  /// What failed. More codes may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String

    /// The number of end-points was less than one.
    public static let noEndPoints = Code(description: "no_end_points")

    /// The port is not available, usually because another process listens on it (`EADDRINUSE`).
    public static let listening = Code(description: "listening")

    /// The system has no descriptors or threads left.
    public static let resources = Code(description: "resources")
  }

  /// What failed.
  public let code: Code

  /// The system's error number; 0 if no system call failed.
  public let errno: Int32

  /// The requested port, 0 for any free one.
  public let port: UInt16

  init(_ code: Code, errno: Int32 = 0, port: UInt16 = 0) {
    self.code = code
    self.errno = errno
    self.port = port
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// What failed and what to do, in one line.
  public var description: String {
    switch code {
    case .noEndPoints:
      "an origin needs at least one end-point; request one or more"
    case .listening:
      "can't listen on 127.0.0.1:\(port) (error \(errno)); choose another port, or 0 for any free one"
    default:
      "the system has no descriptors or threads left (error \(errno)); raise the limits (ulimit -n, ulimit -u)"
    }
  }
}
