#if Redis
import HeadgateGate
import HeadgateThreads

/// The limits that programs share under a name in Redis, for programs that set or monitor them. Its methods block until
/// Redis replies, for a few seconds at most.
public struct RedisNamespace: Sendable {
  /// The state of an end-point or a scope.
  public struct Status: Hashable, Sendable {
    /// `host:port`, `host:port|long`, or the kind and the name of a scope.
    public let scope: String
    /// The maximum number of running requests. Nil: none.
    public let limit: Int?
    /// The permits that are held, or kept back after an unclean end.
    public let running: Int
    /// The number of waiting entries: a program has one for each kind of permit that it waits for.
    public let waiting: Int
  }

  /// The address of Redis.
  public let url: RedisURL
  /// The name under which programs share their limits.
  public let name: String

  /// Names the limits at a server, and sends nothing yet.
  ///
  /// - Throws: ``RedisError`` if the URL or the name is invalid.
  public init(_ url: String, _ name: String = "headgate") throws(RedisError) {
    (self.url, self.name) = (try RedisURL(url), try Self.checked(name))
  }

  static func checked(_ name: String) throws(RedisError) -> String {
    let isValid = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isValid, (1...64).contains(name.utf8.count) else {
      throw RedisError("a namespace must be 1 to 64 letters, digits, - , _ or .")
    }
    return name
  }

  /// Sets limits, which apply instead of those that programs declare. On an empty Redis server it also records that no
  /// program holds a permit, so that the first program need not wait for the length of a lease.
  ///
  /// - Parameters:
  ///   - version: Limits with a version that is not higher than the present one are ignored.
  ///   - endPoints: The limits of end-points.
  ///   - scopes: The limits of scopes.
  ///   - quarantine: How long the permits of a program stay counted after its lease has ended uncleanly, at most a day.
  ///     A program that was paused may still be running its requests then: choose the sum of the longest pause and the
  ///     longest request.
  /// - Returns: The number of limits that were set. A limit for long requests counts as one.
  /// - Throws: ``RedisError`` if Redis can't be used, or if the version or the quarantine is invalid.
  @discardableResult
  public func configure(
    version: Int, endPoints: [EndPoint: EndPointLimits] = [:], scopes: [RequestScope: ScopeLimits] = [:],
    quarantine: Duration = .zero
  ) throws(RedisError) -> Int {
    guard version > 0 else { throw RedisError("the version of limits must be 1 or more") }
    guard quarantine >= .zero, quarantine <= .seconds(86_400) else {
      throw RedisError("a quarantine must be from 0 to 86,400 seconds, not \(quarantine)")
    }
    var rules: [String: String] = [:]
    for (endPoint, limits) in endPoints {
      let scope = PermitClass.escaped(endPoint.description)
      rules[scope] = PermitClass.rule(limits, quarantine)
      rules[scope + "%7Clong"] = PermitClass.rule(long: limits, quarantine)
    }
    for (scope, limits) in scopes {
      rules[PermitClass.escaped(scope.description)] = PermitClass.rule(limits, quarantine)
    }
    let words = ["\(version)"] + rules.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
    return Int(try run(.configure, words).integer ?? 0)
  }

  /// The number of programs, and the state of at most 1,000 end-points and scopes, by name.
  ///
  /// - Throws: ``RedisError`` if Redis can't be used.
  public func status() throws(RedisError) -> (programs: Int, scopes: [Status]) {
    guard let parts = try run(.status, []).array, parts.count == 3, let programs = parts[0].integer,
      let words = parts[2].array
    else { throw RedisError("Redis sent an unexpected reply to status", .broken) }
    let scopes = stride(from: 0, to: words.count - 3, by: 4).compactMap { place -> Status? in
      guard let scope = words[place].text, let rule = words[place + 1].text else { return nil }
      return Status(
        scope: PermitClass.unescaped(scope), limit: Int(rule.prefix { $0 != "|" }),
        running: Int(words[place + 2].integer ?? 0), waiting: Int(words[place + 3].integer ?? 0))
    }
    return (Int(programs), scopes.sorted { $0.scope < $1.scope })
  }

  /// Tells the programs of a pause.
  package func tell(_ pause: SharedPause) throws(RedisError) { _ = try run(.pause, PermitClass.words(pause)) }

  private func run(_ script: RedisScript, _ words: [String]) throws(RedisError) -> RESPValue {
    let connection = try RedisConnection(url)
    return try connection.run(
      script, keys: RedisScript.keys(name), ["", "", "0", RedisScript.channel(name, "")] + words)
  }
}
#endif
