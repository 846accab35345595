import HeadgateOrigin

/// The effect of a documented command, as seen by its servers and in its folder.
struct CommandEffect: Sendable {
  /// The URLs in `urls.txt`.
  enum List: Sendable {
    /// `a.json` and `b.json` of `example.com`, `c.json` of `cdn.example.com`.
    case short
    /// These and 24 more of `example.com`.
    case long
  }

  var list = List.short
  /// Run before the command, and counted only where noted.
  var before: String?
  var countsBefore = false
  /// Paths whose first request is answered with 503.
  var busy: [String] = []
  /// The answer to every request, instead of the one for its path, or of an echo of its body.
  var answer: OriginAnswer?
  /// The expected requests, in any order: method, host and path.
  var requests: [String]
  /// Fields that every request has.
  var fields: [String: String] = [:]
  /// The files that are new afterwards.
  var files: [String] = []
  /// The contents of some of them.
  var contents: [String: String] = [:]
  /// The expected standard output; nil: it is not checked.
  var output: String?
  /// The bodies in the results, in any order.
  var bodies: [String]?
  /// The maximum number of concurrent requests at any host.
  var most = 6
  /// The minimum duration.
  var seconds = 0.0
}

extension CommandEffect {
  private static let long = (1...24).map { "\($0).json" }
  static let short = ["GET cdn.example.com/c.json", "GET example.com/a.json", "GET example.com/b.json"]

  /// The URLs of a list, with the page's host names.
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

  /// The list's files, one of which exists only at the second attempt.
  static func repeating(in folder: String = "out/") -> CommandEffect {
    var effect = list(in: folder)
    effect.busy = ["/b.json"]
    effect.requests.append("GET example.com/b.json")
    return effect
  }

  /// The failures of an earlier run, and nothing else.
  static func goingOn(in folder: String = "out/", after before: String) -> CommandEffect {
    CommandEffect(
      before: before + " --retry 0", busy: ["/b.json"], requests: ["GET example.com/b.json"], files: [folder + "b.json"]
    )
  }

  /// One file's body on the standard output.
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
