import HeadgateDispatch
import HeadgateLibC
import HeadgateSharing
import HeadgateThreads

/// Serves the numbers of a permit server over HTTP to programs of this machine, on a thread of its own, one request at a
/// time. It asks the server as `headgate status` does.
final class MetricsPage: Sendable {
  /// How long a client may take to send its request, and to read the answer.
  private static let patience = Duration.seconds(5)
  /// The longest head of a request, in bytes.
  private static let longestHead = 8192

  private let listener: Int32
  private let folder: PermitFolder
  private let isStopped = LockedBox(false)
  private let poller: Poller
  private let thread = LockedBox<WorkerThread?>(nil)

  /// Listens.
  ///
  /// - Parameters:
  ///   - address: An address of this machine, and a port.
  ///   - folder: The folder of the permit server.
  /// - Throws: ``FetchProblem`` if the address is in use, or if no descriptor or thread is left.
  init(at address: EndPoint, of folder: PermitFolder) throws(FetchProblem) {
    self.folder = folder
    do {
      poller = try Poller()
      listener = try Self.listen(at: address)
    } catch {
      throw FetchProblem("--metrics: can't listen at \(address): \(error)", status: .usage)
    }
    poller.add(listener, .read)
    do {
      let worker = try WorkerThread(name: "headgate-metrics", serves: true) { [self] in serve() }
      thread.withLock { $0 = worker }
    } catch {
      StreamSocket.close(listener)
      throw FetchProblem("--metrics: \(error)")
    }
  }

  /// Ends the thread, and stops to listen.
  func stop() {
    isStopped.withLock { $0 = true }
    poller.wake()
    thread.withLock { $0 }?.join()
    StreamSocket.close(listener)
  }

  private static func listen(at endPoint: EndPoint) throws(SystemError) -> Int32 {
    let descriptor = StreamSocket.make(endPoint.isIPv6 ? AF_INET6 : AF_INET)
    guard descriptor >= 0 else { throw .last }
    StreamSocket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, Int32(1))
    let isBound: Bool
    if endPoint.isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(endPoint.port).bigEndian
      inet_pton(AF_INET6, endPoint.host, &address.sin6_addr)
      isBound = bound(descriptor, to: &address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(endPoint.port).bigEndian
      inet_pton(AF_INET, endPoint.host, &address.sin_addr)
      isBound = bound(descriptor, to: &address)
    }
    guard isBound, platformListen(descriptor, 16) == 0 else {
      defer { StreamSocket.close(descriptor) }
      throw .last
    }
    return descriptor
  }

  private static func bound<Address>(_ descriptor: Int32, to address: inout Address) -> Bool {
    // Every socket address may be read as a `sockaddr`; the kernel uses the family and the size passed along.
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
      }
    }
  }

  private func serve() {
    var events: [PollEvent] = []
    while !isStopped.withLock({ $0 }) {
      poller.wait(until: .distantFuture, into: &events)
      let connection = StreamSocket.accept(listener)
      guard connection >= 0 else {
        // No descriptor is left, or the client has gone. The socket stays ready.
        if errno != EAGAIN, errno != EWOULDBLOCK { poll(nil, 0, 50) }
        continue
      }
      answer(connection)
      StreamSocket.close(connection)
    }
  }

  private func answer(_ connection: Int32) {
    let deadline = Deadline.after(Self.patience)
    guard let head = head(of: connection, until: deadline) else { return }
    let (status, type, body) = response(to: head)
    let text =
      "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
    var rest = Array((text + (head.hasPrefix("HEAD ") ? "" : body)).utf8)[...]
    while !rest.isEmpty {
      switch StreamSocket.send(connection, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .blocked: guard wait(for: connection, POLLOUT, until: deadline) else { return }
      case .ended: return
      }
    }
    // A socket that is closed with unread bytes is reset, which may cost the client the answer.
    shutdown(connection, Int32(SHUT_WR))
    var buffer = [UInt8](repeating: 0, count: 1024)
    while wait(for: connection, POLLIN, until: deadline) {
      if case .ended = StreamSocket.receive(connection, into: &buffer) { return }
    }
  }

  /// The head of a request. Nil if it does not come in time, is too long, or the client goes.
  private func head(of connection: Int32, until deadline: Deadline) -> String? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count <= Self.longestHead {
      switch StreamSocket.receive(connection, into: &buffer) {
      case .bytes(let count):
        bytes += buffer[..<count]
        let text = String(decoding: bytes, as: UTF8.self)
        if text.contains("\r\n\r\n") || text.contains("\n\n") { return text }
      case .blocked: guard wait(for: connection, POLLIN, until: deadline) else { return nil }
      case .ended: return nil
      }
    }
    return nil
  }

  private func response(to head: String) -> (status: String, type: String, body: String) {
    let words = head.prefix { !$0.isNewline }.split(separator: " ")
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
      return ("400 Bad Request", "text/plain", "not a request\n")
    }
    guard words[0] == "GET" || words[0] == "HEAD" else {
      return ("405 Method Not Allowed", "text/plain", "only GET\n")
    }
    guard words[1].prefix(while: { $0 != "?" }) == "/metrics" else {
      return ("404 Not Found", "text/plain", "see /metrics\n")
    }
    do {
      return ("200 OK", MetricsText.type, MetricsText.of(try PermitStatus.state(from: folder)))
    } catch {
      return ("503 Service Unavailable", "text/plain", "\(error)\n")
    }
  }

  /// Returns false if the deadline has passed, or the process is about to end.
  private func wait(for descriptor: Int32, _ events: Int32, until deadline: Deadline) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    let left = max(0, deadline.nanoseconds(since: .now) / 1_000_000 + 1)
    _ = poll(&wanted, 1, Int32(clamping: left))
    return deadline > .now && !isStopped.withLock { $0 }
  }
}

private func platformListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
