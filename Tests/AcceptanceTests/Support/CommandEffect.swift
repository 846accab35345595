import HeadgateOrigin

/// What a documented command does, as its servers and its folder show it.
struct CommandEffect: Sendable {
  /// Which URLs `urls.txt` has.
  enum List: Sendable {
    /// `a.json` and `b.json` of `example.com`, `c.json` of `cdn.example.com`.
    case short
    /// These and 24 more of `example.com`.
    case long
  }

  var list = List.short
  /// Run before the command, and counted only where that is said.
  var before: String?
  var countsBefore = false
  /// Paths that are answered with 503 the first time.
  var busy: [String] = []
  /// The answer to every request, in the place of one with its path, or of an echo of its body.
  var answer: OriginAnswer?
  /// What is asked for, in any order: method, host and path.
  var requests: [String]
  /// Fields that every request has.
  var fields: [String: String] = [:]
  /// Files that are new afterwards.
  var files: [String] = []
  /// What some of them contain.
  var contents: [String: String] = [:]
  /// What the standard output has; nil: what it is does not matter.
  var output: String?
  /// The bodies in the results, in any order.
  var bodies: [String]?
  /// The most requests at once at any host.
  var most = 6
  /// The least time that it takes.
  var seconds = 0.0
}

extension CommandEffect {
  private static let long = (1...24).map { "\($0).json" }
  static let short = ["GET cdn.example.com/c.json", "GET example.com/a.json", "GET example.com/b.json"]

  /// The URLs of a list, as the hosts are called on the page.
  static func urls(_ list: List) -> [String] {
    let more = list == .long ? long.map { "https://example.com/\($0)" } : []
    return ["https://example.com/a.json", "https://example.com/b.json", "https://cdn.example.com/c.json"] + more
  }

  /// The list's files in a folder.
  static func list(
    in folder: String = "out/", _ list: List = .short, fields: [String: String] = [:], most: Int = 6,
    seconds: Double = 0, also files: [String] = [], after before: String? = nil, countsBefore: Bool = false
  ) -> CommandEffect {
    let more = list == .long ? long : []
    return CommandEffect(
      list: list, before: before, countsBefore: countsBefore, requests: short + more.map { "GET example.com/\($0)" },
      fields: fields,
      files: (["a.json", "b.json", "c.json"] + more).map { folder + $0 } + files, most: most, seconds: seconds)
  }

  /// The list's files, one of which is there at the second attempt only.
  static func repeating(in folder: String = "out/") -> CommandEffect {
    var effect = list(in: folder)
    effect.busy = ["/b.json"]
    effect.requests.append("GET example.com/b.json")
    return effect
  }

  /// What an earlier run failed to get, and nothing else.
  static func goingOn(in folder: String = "out/", after before: String) -> CommandEffect {
    CommandEffect(before: before, busy: ["/b.json"], requests: ["GET example.com/b.json"], files: [folder + "b.json"])
  }

  /// One file's body at the standard output.
  static func printed(_ fields: [String: String] = [:], files: [String] = []) -> CommandEffect {
    CommandEffect(requests: ["GET example.com/a.json"], fields: fields, files: files, output: "/a.json\n")
  }

  /// One file in the current folder, or two.
  static func stored(_ names: String..., most: Int = 6, seconds: Double = 0) -> CommandEffect {
    CommandEffect(
      requests: names.map { "GET example.com/\($0)" }, files: names, most: most, seconds: seconds)
  }

  /// One request for each of two rows, and a result for each.
  static func called(
    _ request: String, _ bodies: [String], fields: [String: String] = [:], isPrinted: Bool = false,
    also files: [String] = [], answer: OriginAnswer? = nil
  ) -> CommandEffect {
    CommandEffect(
      answer: answer, requests: bodies.map { _ in request }, fields: fields,
      files: (isPrinted ? [] : ["results.ndjson"]) + files, bodies: bodies)
  }
}
