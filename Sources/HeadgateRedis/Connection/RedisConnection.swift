#if Redis
import HeadgateLibC
import HeadgateThreads

/// A connection to Redis for one thread, which waits for each reply. No command is sent twice: after a failure it is not
/// known whether it had its effect.
final class RedisConnection {
  static let timeLimit = Duration.seconds(1)

  private let socket: RedisSocket
  private var parser = RESPParser()
  // By name of script. The digest comes from the server, which computes it anyway.
  private var digests: [String: String] = [:]
  private var buffer = [UInt8](repeating: 0, count: 16 * 1024)

  /// Connects, signs in, and selects the database.
  init(_ url: RedisURL) throws(RedisError) {
    socket = try RedisSocket.connect(to: url.place, by: .after(Self.timeLimit))
    if let password = url.password { _ = try call(["AUTH"] + (url.user.map { [$0] } ?? []) + [password]) }
    if url.database != 0 { _ = try call(["SELECT", "\(url.database)"]) }
  }

  var descriptor: Int32 { socket.descriptor }

  /// Sends a command and waits for its reply, at most a second.
  ///
  /// - Throws: ``RedisError``: `refused` if the reply is an error. After any other error the connection is unusable.
  func call(_ words: [String]) throws(RedisError) -> RESPValue {
    let deadline = Deadline.after(Self.timeLimit)
    try socket.send(RESPCommand.encode(words), by: deadline)
    while true {
      if let reply = try next() {
        // An error of the server may quote a command, but not AUTH.
        if case .error(let text) = reply { throw RedisError("Redis has refused \(words[0]): \(text)", .refused) }
        return reply
      }
      guard socket.wait(for: Int16(POLLIN), until: deadline) else {
        throw RedisError("Redis has not answered within a second", .broken)
      }
    }
  }

  /// Runs a script by its digest. If the server does not know the digest, the script has not run, and is sent whole.
  func run(_ script: RedisScript, keys: [String], _ arguments: [String]) throws(RedisError) -> RESPValue {
    let rest = ["\(keys.count)"] + keys + arguments
    if digests[script.name] == nil { digests[script.name] = try call(["SCRIPT", "LOAD", script.source]).text }
    do throws(RedisError) {
      return try call(["EVALSHA", digests[script.name] ?? ""] + rest)
    } catch {
      guard error.kind == .refused, error.description.contains(": NOSCRIPT") else { throw error }
      return try call(["EVAL", script.source] + rest)
    }
  }

  func send(_ words: [String]) throws(RedisError) {
    try socket.send(RESPCommand.encode(words), by: .after(Self.timeLimit))
  }

  /// The next reply that has arrived, if any.
  func next() throws(RedisError) -> RESPValue? {
    while true {
      do {
        if let reply = try parser.next() { return reply }
      } catch {
        throw RedisError("the server is not Redis, or its reply is too long", .broken)
      }
      guard case .bytes(let bytes) = try socket.receive(into: &buffer) else { return nil }
      parser.append(bytes)
    }
  }
}
#endif
