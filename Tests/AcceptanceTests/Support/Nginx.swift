import Foundation
import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads
import Testing

/// A separate nginx for a test: one process, on ports of 127.0.0.1.
final class Nginx: Sendable {
  /// The connections that nginx counts itself, without those of the status requests.
  struct Connections {
    var open: Int
    var accepted: Int
  }

  /// A line of its access log, which has no entries for connections without a request.
  struct Request {
    var port: Int
    var status: Int
    /// The number of its connection, counted from nginx's start.
    var connection: Int
    /// The connections that were open when its response was sent.
    var open: Int
    var isHTTP2: Bool
  }

  let ports: [Int]
  let folder: TemporaryFolder
  private let process: ServerProcess
  private let asker: URLDispatcher
  private let asked = Locked(0)
  private let statusPort: Int

  /// Starts it with as many ports as the configuration needs.
  ///
  /// - Parameters:
  ///   - ports: How many.
  ///   - folder: Where its files are, and those that it serves.
  ///   - servers: What stands in the http section, made from the ports.
  static func start(
    ports count: Int, in folder: TemporaryFolder, _ servers: ([Int]) -> String
  ) async throws -> Nginx {
    for _ in 0..<20 {
      // Below the ports that the system assigns automatically; nginx reports whether they are free.
      let ports = Array(Set((0..<4 * (count + 1)).map { _ in Int.random(in: 10_000..<32_768) }).prefix(count + 1))
      if let nginx = try await Nginx(ports, folder, servers(ports)) { return nginx }
    }
    throw Late(description: "no free ports for nginx")
  }

  private init?(_ ports: [Int], _ folder: TemporaryFolder, _ servers: String) async throws {
    self.ports = Array(ports.dropLast())
    self.folder = folder
    statusPort = ports[ports.count - 1]
    asker = URLDispatcher(transport: try CurlTransport())
    // A server that found a port in use leaves its sockets behind.
    for leftover in ["nginx.pid", "nginx-errors"] + folder.names().filter({ $0.hasSuffix(".sock") }) {
      try? FileManager.default.removeItem(atPath: folder.file(leftover))
    }
    try folder.write(Nginx.configuration(servers, statusPort).utf8, to: "nginx.conf")
    process = try ServerProcess(
      [Nginx.program, "-p", folder.path + "/", "-c", folder.file("nginx.conf")],
      in: folder.path, output: folder.file("nginx-output"))
    var isTaken = false
    do {
      try await process.waitUntilReady {
        // It binds its ports first and then writes its number.
        if let pid = folder.text(of: "nginx.pid").flatMap({ pid_t($0.trimmingCharacters(in: .newlines)) }) {
          return pid
        }
        isTaken = folder.text(of: "nginx-errors")?.contains("bind()") ?? false
        if isTaken { throw CancellationError() }
        return nil
      }
    } catch {
      await process.stop()
      if isTaken { return nil }
      let said = (folder.text(of: "nginx-output") ?? "") + (folder.text(of: "nginx-errors") ?? "")
      throw Late(description: "\(error): \(said)")
    }
  }

  private static let program =
    ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"]
    .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "nginx"

  /// One process without a master: there is one process to end, and one that counts.
  private static func configuration(_ servers: String, _ statusPort: Int) -> String {
    """
    daemon off;
    master_process off;
    pid nginx.pid;
    error_log nginx-errors;
    events { worker_connections 512; }
    http {
      default_type text/plain;
      client_body_temp_path nginx-client;
      proxy_temp_path nginx-proxy;
      fastcgi_temp_path nginx-fastcgi;
      uwsgi_temp_path nginx-uwsgi;
      scgi_temp_path nginx-scgi;
      log_format counts "$server_port $status $connection $connections_active $server_protocol";
      access_log nginx-requests counts;
      keepalive_requests 100000;
      root files;
      server {
        listen 127.0.0.1:\(statusPort);
        access_log off;
        keepalive_timeout 0;
        location / { stub_status; }
      }
      \(servers)
    }
    """
  }

  func url(_ path: String, port index: Int = 0, scheme: String = "http", host: String = "127.0.0.1") -> String {
    "\(scheme)://\(host):\(ports[index])\(path)"
  }

  /// Its counts at this moment.
  func connections() async throws -> Connections {
    let text = try await asker.data(for: "http://127.0.0.1:\(statusPort)/").text
    let asked = asked.withLock { asked in
      asked += 1
      return asked
    }
    // "Active connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0"
    let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
    try #require(numbers.count == 7, "\(text)")
    return Connections(open: numbers[0] - 1, accepted: numbers[1] - asked)
  }

  /// Ends it.
  func stop() async {
    await asker.shutDown(.now)
    await process.stop()
  }

  /// Its access log; complete once it has ended.
  var requests: [Request] {
    (folder.text(of: "nginx-requests") ?? "").split(separator: "\n").compactMap { line in
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      guard numbers.count == 4 else { return nil }
      return Request(
        port: numbers[0], status: numbers[1], connection: numbers[2], open: numbers[3],
        isHTTP2: line.hasSuffix(" HTTP/2.0"))
    }
  }

  /// Its error log.
  var errors: String { folder.text(of: "nginx-errors") ?? "" }
}
