#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The requests that a client makes before the measured ones.
public let warmUpRequests = 2000

/// The arguments of a bulk client: URL N CONNECTIONS, after options that begin with `--`.
public struct BulkArguments: Sendable {
  /// The URL to request.
  public let url: String
  /// How many requests to make after the warm-up.
  public let requests: Int
  /// The maximum number of open connections.
  public let connections: Int
  /// The options that begin with `--`.
  public let options: Set<String>

  /// Reads the command line; exits with status 2 if it is invalid.
  public init() {
    let arguments = CommandLine.arguments.filter { !$0.hasPrefix("--") }
    guard arguments.count == 4, let requests = Int(arguments[2]), let connections = Int(arguments[3]),
      requests > 0, connections > 0
    else {
      complain("usage: \(arguments[0]) URL N CONNECTIONS")
    }
    self.url = arguments[1]
    self.requests = requests
    self.connections = connections
    options = Set(CommandLine.arguments.filter { $0.hasPrefix("--") })
  }
}

/// Wall time and the process's CPU time since it was created.
public struct Meter {
  private let started = Usage.now

  /// Starts to measure.
  public init() {}

  /// Prints the one JSON line of a result. `count` names what was counted ("requests", "operations").
  public func report(client: String, count: (name: String, value: Int), errors: Int? = nil) {
    let used = Usage.now.since(started)
    let tail = errors.map { ",\"errors\":\($0)" } ?? ""
    print(
      "{\"client\":\"\(client)\",\"\(count.name)\":\(count.value),\"seconds\":\(used.seconds),\"cpu\":\(used.cpu)\(tail)}"
    )
  }
}

/// Prints a message to the standard error and exits with status 2.
public func complain(_ message: String) -> Never {
  let line = message + "\n"
  _ = line.withCString { write(2, $0, strlen($0)) }
  exit(2)
}
