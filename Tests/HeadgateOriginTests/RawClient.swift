#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A blocking socket without its own HTTP, which sends exactly the given bytes. Every wait is limited to half a minute.
final class RawClient {
  struct Failure: Error {
    let call: String
    let errno: Int32
  }

  private var descriptor: Int32
  private var rest: [UInt8] = []

  init(port: UInt16) throws {
    #if canImport(Glibc)
    let stream = Int32(SOCK_STREAM.rawValue)
    #else
    let stream = SOCK_STREAM
    #endif
    descriptor = socket(AF_INET, stream, 0)
    var bound = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &bound, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &bound, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    #if canImport(Darwin)
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    // Every socket address may be read as a `sockaddr`; the size is its actual length.
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
      }
    }
    if failed { throw Failure(call: "connect", errno: errno) }
  }

  deinit { disconnect() }

  func disconnect() {
    if descriptor >= 0 { _ = close(descriptor) }
    descriptor = -1
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var start = 0
    while start < bytes.count {
      // The pointer stays inside the closure, with its length.
      let count = bytes.withUnsafeBytes { buffer in
        let part = UnsafeRawBufferPointer(rebasing: buffer[start...])
        #if canImport(Darwin)
        return Darwin.send(descriptor, part.baseAddress, part.count, 0)
        #elseif canImport(Glibc)
        return Glibc.send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
        #else
        return Musl.send(descriptor, part.baseAddress, part.count, MSG_NOSIGNAL)
        #endif
      }
      guard count > 0 else { throw Failure(call: "send", errno: errno) }
      start += count
    }
  }

  /// Sends a request with the header lines that HTTP/1.1 asks for and these others.
  func request(_ path: String, method: String = "GET", headers: [String] = [], body: String = "") throws {
    let lines = ["\(method) \(path) HTTP/1.1", "Host: origin"] + headers
    try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
  }

  /// The next bytes that have arrived; nil at the end of the connection.
  private func receive() throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    // The pointer stays inside the closure, with its length.
    let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    guard count >= 0 else { throw Failure(call: "recv", errno: errno) }
    return count == 0 ? nil : Array(buffer[..<count])
  }

  /// The next `count` bytes, or fewer at the end of the connection.
  func bytes(_ count: Int) throws -> [UInt8] {
    while rest.count < count, let more = try receive() { rest += more }
    defer { rest.removeFirst(min(count, rest.count)) }
    return Array(rest.prefix(count))
  }

  /// Everything up to the end of the connection.
  func remainder() throws -> [UInt8] { try bytes(.max) }

  /// The next line without its end; nil at the end of the connection.
  func line() throws -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest.removeFirst(end + 1)
        return line.hasSuffix("\r") ? String(line.dropLast()) : line
      }
      guard let more = try receive() else { return nil }
      rest += more
    }
  }

  /// The next answer's head, and its body, whose length the head declares.
  func answer(hasBody: Bool = true) throws -> RawAnswer {
    var answer = RawAnswer()
    answer.statusLine = try line() ?? ""
    answer.headLines = [answer.statusLine]
    while let line = try line(), !line.isEmpty {
      answer.headLines.append(line)
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { throw Failure(call: "header", errno: 0) }
      answer.headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
    }
    guard hasBody else { return answer }
    if answer.headers["transfer-encoding"] == "chunked" {
      while let chunk = try chunk() {
        answer.chunks += 1
        answer.body += chunk
      }
    } else {
      answer.body = try bytes(answer.headers["content-length"].flatMap { Int($0) } ?? 0)
    }
    return answer
  }

  /// The next chunk of a stream; nil after the last one.
  func chunk() throws -> [UInt8]? {
    guard let size = Int(try line() ?? "", radix: 16) else { throw Failure(call: "chunk", errno: 0) }
    let body = try bytes(size)
    guard try line() == "" else { throw Failure(call: "chunk end", errno: 0) }
    return size == 0 ? nil : body
  }
}

struct RawAnswer {
  var statusLine = ""
  var headLines: [String] = []
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var chunks = 0

  var status: Int { Int(statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
  var text: String { String(decoding: body, as: UTF8.self) }
}
