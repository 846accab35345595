#if Redis
/// A script that Redis runs as one step. Each is the common part, then a body of its own.
///
/// The scripts use the keys that they are given and no others, as Redis Cluster and similar systems require. The data
/// of each program is therefore in fields of a few keys, and ordered sets serve as indexes of these fields.
struct RedisScript: Sendable {
  let name: String
  let source: String

  private init(_ name: String, _ body: String) {
    self.name = name
    source = [clockScript, rulesScript, pausesScript, permitsScript, body].joined(separator: "\n")
  }

  static let attach = RedisScript("attach", attachScript)
  static let step = RedisScript("step", stepScript)
  static let detach = RedisScript("detach", detachScript)
  static let pause = RedisScript("pause", pauseScript)
  static let configure = RedisScript("configure", configureScript)
  static let status = RedisScript("status", statusScript)

  /// The keys of a namespace. The braces put them in one slot of a cluster.
  static func keys(_ namespace: String) -> [String] {
    [
      "meta", "sessions", "ticks", "index", "held", "used", "rules", "declared", "waiting", "wants", "given",
      "quarantine", "starts", "pauses", "dues",
    ].map { "{\(namespace)}:\($0)" }
  }

  /// The channel that tells a session of a permit. Losing a message costs a quarter of a second.
  static func channel(_ namespace: String, _ session: String) -> String { "{\(namespace)}:hint:\(session)" }
}
#endif
