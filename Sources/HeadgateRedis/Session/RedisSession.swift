#if Redis
import HeadgateGate
import HeadgateThreads

/// A session in Redis: two connections, and the lease under which this program's permits are counted. Used by one thread.
final class RedisSession {
  struct Grant {
    let name: String
    let wait: Duration
    let moment: String
  }

  struct Pause {
    let scope: String
    let left: Duration
    let cause: String
  }

  struct Attached {
    let learning: Duration
    let confirmed: [String: Int]
    /// Whether Redis took the claims for true, since its own record may be incomplete.
    let isBelieved: Bool
  }

  struct Step {
    let learning: Duration
    let programs: Int
    /// When a start becomes possible that a rate forbids now.
    let retry: Duration?
    let grants: [Grant]
    /// Of the end-points of the wishes that this step has told of.
    let pauses: [Pause]
    /// Whether the next step can give memory back.
    let hasMore: Bool
  }

  private static let guess = "unknown-"

  private let connection: RedisConnection
  private let hints: RedisConnection
  private let keys: [String]
  private let channel: String
  private let name: String
  private let lease: Duration
  /// The server's run. If a later connection can't read it: a guess, which only the first declaration uses.
  private var run: String
  private(set) var tick = ""
  /// The time until which no other program is granted what this one holds.
  private(set) var validUntil: ContinuousClock.Instant

  /// Connects.
  ///
  /// - Parameters:
  ///   - isFirst: Whether this is the program's first connection. On a later one, if the server refuses INFO, the
  ///     server may have restarted.
  ///   - validUntil: The end of the lease under which the program holds permits.
  init(
    _ url: RedisURL, namespace: String, name: String, lease: Duration, isFirst: Bool,
    validUntil: ContinuousClock.Instant
  ) throws(RedisError) {
    connection = try RedisConnection(url)
    hints = try RedisConnection(url)
    keys = RedisScript.keys(namespace)
    channel = RedisScript.channel(namespace, "")
    (self.name, self.lease) = (name, lease)
    self.validUntil = validUntil
    do throws(RedisError) {
      let info = try connection.call(["INFO", "server"]).text ?? ""
      let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }
      run = line.map { String($0.dropFirst(7)) } ?? ""
    } catch {
      guard error.kind == .refused else { throw error }
      run = isFirst ? "" : "\(Self.guess)\(UInt64.random(in: 0 ... .max))"
    }
    _ = try hints.call(["SUBSCRIBE", channel + name])
  }

  var hintDescriptor: Int32 { hints.descriptor }

  /// Reads the hints that have arrived. Returns whether there were any.
  func takeHints() throws(RedisError) -> Bool {
    var found = false
    while try hints.next() != nil { found = true }
    return found
  }

  /// Declares what the program holds. After that only the permits that Redis confirms are valid.
  ///
  /// - Parameters:
  ///   - sequence: A number that is higher with each declaration of the program, so that one that was delayed on an
  ///     earlier connection has no effect.
  ///   - isStale: Whether the lease has ended. Others may then hold what is claimed, so Redis goes by its own record.
  func attach(
    epoch: String, sequence: Int, claims: [String: Int], isStale: Bool
  ) throws(RedisError) -> Attached {
    let words = claims.sorted { $0.key < $1.key }.flatMap { [$0.key, "\($0.value)"] }
    var reply: RESPValue
    repeat {
      reply = try renewing { () throws(RedisError) in
        try run(.attach, epoch, [run, "\(sequence)", isStale ? "1" : "0"] + words)
      }
    } while reply.text == "MORE"
    guard reply.text != "LATE" else { throw RedisError("this program has declared its permits again since", .broken) }
    guard let parts = reply.array, parts.count == 4, let tick = parts[0].text, let left = parts[1].integer,
      let pairs = parts[2].array, let believed = parts[3].integer
    else { throw RedisError("Redis sent an unexpected reply to attach", .broken) }
    self.tick = tick
    // No connection outlives its server. Programs that repeated their guesses would take each other's for new restarts.
    if run.hasPrefix(Self.guess) { run = "" }
    var confirmed: [String: Int] = [:]
    for place in stride(from: 0, to: pairs.count - 1, by: 2) {
      if let scope = pairs[place].text { confirmed[scope] = pairs[place + 1].integer.map { Int($0) } }
    }
    return Attached(learning: .microseconds(left), confirmed: confirmed, isBelieved: believed == 1)
  }

  /// Reports the news, renews the lease, and takes the permits that were granted. Nil if the session has ended.
  func step(_ news: [String]) throws(RedisError) -> Step? {
    let before = validUntil
    let reply = try renewing { () throws(RedisError) in try run(.step, tick, news) }
    guard let parts = reply.array, let code = parts.first?.text else {
      throw RedisError("Redis sent an unexpected reply to a step", .broken)
    }
    guard code == "OK" else {
      validUntil = before
      return nil
    }
    guard parts.count == 7, let left = parts[1].integer, let programs = parts[2].integer, let retry = parts[3].integer,
      let words = parts[4].array, let paused = parts[5].array,
      let more = parts[6].integer
    else { throw RedisError("Redis sent an unexpected reply to a step", .broken) }
    let grants = stride(from: 0, to: words.count - 2, by: 3).compactMap { place -> Grant? in
      guard let name = words[place].text, let wait = words[place + 1].integer, let moment = words[place + 2].text
      else { return nil }
      return Grant(name: name, wait: .microseconds(wait), moment: moment)
    }
    return Step(
      learning: .microseconds(left), programs: Int(programs), retry: retry < 0 ? nil : .microseconds(retry),
      grants: grants,
      pauses: stride(from: 0, to: paused.count - 2, by: 3).compactMap { place in
        guard let scope = paused[place].text, let left = paused[place + 1].integer, let cause = paused[place + 2].text
        else { return nil }
        return Pause(scope: scope, left: .microseconds(left), cause: cause)
      }, hasMore: more == 1)
  }

  func detach() throws(RedisError) { while try run(.detach, tick, []).text == "MORE" {} }

  /// The lease counts from before the command was sent, by a clock that runs while the machine sleeps.
  private func renewing(_ send: () throws(RedisError) -> RESPValue) throws(RedisError) -> RESPValue {
    let sent = ContinuousClock.now
    let reply = try send()
    validUntil = sent + lease - max(.milliseconds(250), lease / 10)
    return reply
  }

  private func run(_ script: RedisScript, _ tick: String, _ words: [String]) throws(RedisError) -> RESPValue {
    let microseconds = lease.wholeNanoseconds / 1000
    return try connection.run(script, keys: keys, [name, tick, "\(microseconds)", channel] + words)
  }
}
#endif
