#if Redis
import HeadgateGate

/// The address of a Redis server, and the credentials to sign in with: `redis://user:password@host:6379/0`, or
/// `unix:/run/redis.sock`.
///
/// Its description contains no password.
public struct RedisURL: Sendable, CustomStringConvertible {
  enum Place: Hashable, Sendable {
    case host(String, port: String)
    case path(String)
  }

  let place: Place
  let user: String?
  let password: String?
  let database: Int

  /// Parses a URL. The user, the password and the path are percent-decoded.
  ///
  /// - Throws: ``RedisError`` if it is invalid, or asks for TLS.
  public init(_ text: String) throws(RedisError) {
    if text.hasPrefix("unix:") {
      let path = text.dropFirst(5).drop { $0 == "/" }
      guard !path.isEmpty else { throw RedisError("a Redis socket is written as unix:/path/of/redis.sock") }
      (place, user, password, database) = (.path("/" + path), nil, nil, 0)
      return
    }
    guard !text.hasPrefix("rediss:") else {
      throw RedisError("rediss:// is not supported; run stunnel on this machine, and connect to it with redis://")
    }
    guard text.hasPrefix("redis://") else {
      throw RedisError("a Redis server is written as redis://host:port/database or unix:/path")
    }
    var rest = text.dropFirst(8)
    if let at = rest.lastIndex(of: "@") {
      let words = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let decoded = words.map { URLText.percentDecoded($0) }
      guard !decoded.contains(nil) else { throw RedisError("the user or password has an invalid percent-escape") }
      user = decoded[0].flatMap { $0.isEmpty ? nil : $0 }
      password = decoded.count > 1 ? decoded[1] : nil
      rest = rest[rest.index(after: at)...]
    } else {
      (user, password) = (nil, nil)
    }
    if user != nil, password == nil { throw RedisError("the Redis user has no password; write user:password@host") }
    let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.count > 1 ? parts[1] : ""
    guard let database = name.isEmpty ? 0 : Int(name), (0..<1 << 16).contains(database) else {
      throw RedisError("the Redis database must be a number")
    }
    self.database = database
    place = try Self.host(parts[0])
  }

  private static func host(_ text: Substring) throws(RedisError) -> Place {
    var host = text
    var port = "6379"
    if let colon = text.lastIndex(of: ":"), text.last != "]" {
      host = text[..<colon]
      port = String(text[text.index(after: colon)...])
    }
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    guard !host.isEmpty, let number = Int(port), (1...65_535).contains(number) else {
      throw RedisError("a Redis server needs a host and a port from 1 to 65535: redis://host:6379")
    }
    return .host(String(host), port: port)
  }

  /// The server and the database, without user and password.
  public var description: String {
    switch place {
    case .host(let host, let port):
      "redis://\(host.contains(":") ? "[\(ShownText.of(host))]" : ShownText.of(host)):\(port)/\(database)"
    case .path(let path): "unix:\(ShownText.of(path))"
    }
  }
}
#endif
