import HeadgateGate
import HeadgateThreads

/// What a program asks of the permit server: one line of the protocol.
enum PermitCommand: Sendable, Hashable {
  /// The limits of an end-point, as this program has configured them.
  case limitEndPoint(EndPoint, EndPointLimits)
  /// The limits of a scope, as this program has configured them.
  case limitScope(RequestScope, ScopeLimits)
  /// Asks for a permit. The number is the program's own.
  case ask(UInt64, PermitAsk)
  /// The program holds the permit's pipe.
  case taken(UInt64)
  /// Withdraws a request that waits.
  case cancel(UInt64)
  /// Corrects the weights of a permit.
  case settle(UInt64, [String: Int])
  /// Returns a permit, whose pipe is closed.
  case release(UInt64)
  /// Returns a permit that was not used, whose pipe is closed. For an earlier server a `release`.
  case decline(UInt64)
  /// Asks for the state of the server, as a text for people.
  case status
  /// Asks for the same as words of the protocol. An earlier server answers with the text.
  case state
  /// The program was told that an end-point accepts nothing for a while.
  case pause(PermitPause)
  /// A verb of a later version, which is answered and otherwise ignored.
  case unknown(String)

  private static let verbs: Set = ["limit", "ask", "taken", "cancel", "release", "settle", "status", "pause"]

  /// Parses a line.
  ///
  /// - Throws: ``PermitProtocolError`` with a text for the program's author.
  init(line: String) throws(PermitProtocolError) {
    guard let words = PermitWords(line: line) else { throw PermitProtocolError("malformed line", line) }
    switch (words.verb, words.number) {
    case ("limit", nil): self = try Self.limit(words, line)
    case ("ask", let number?): self = .ask(number, try PermitAsk(words, line))
    case ("taken", let number?): self = .taken(number)
    case ("cancel", let number?): self = .cancel(number)
    case ("release", let number?): self = words.first("unused") == nil ? .release(number) : .decline(number)
    case ("settle", let number?):
      guard let weights = words.weights else { throw PermitProtocolError("invalid weight", line) }
      self = .settle(number, weights)
    case ("status", nil): self = words.first("form") == "words" ? .state : .status
    case ("pause", nil):
      guard let pause = PermitPause(words) else { throw PermitProtocolError("invalid pause", line) }
      self = .pause(pause)
    case (let verb, _) where !Self.verbs.contains(verb): self = .unknown(verb)
    default: throw PermitProtocolError("a command with a number that it does not have, or without one", line)
    }
  }

  private static func limit(_ words: PermitWords, _ line: String) throws(PermitProtocolError) -> PermitCommand {
    if let text = words.first("scope") {
      guard let scope = RequestScope(sharedName: text), let limits = words.scopeLimits else {
        throw PermitProtocolError("invalid limits of a scope", line)
      }
      return .limitScope(scope, limits)
    }
    guard let text = words.first("for"), let endPoint = EndPoint(sharedName: text),
      let limits = words.endPointLimits
    else { throw PermitProtocolError("invalid limits of an end-point", line) }
    return .limitEndPoint(endPoint, limits)
  }

  /// The line, without its end.
  var line: String {
    var words: PermitWords
    switch self {
    case .limitEndPoint(let endPoint, let limits):
      words = PermitWords("limit")
      words.add("for", endPoint.sharedName)
      words.add(limits)
    case .limitScope(let scope, let limits):
      words = PermitWords("limit")
      words.add("scope", scope.sharedName)
      words.add(limits)
    case .ask(let number, let ask): words = ask.words(number)
    case .taken(let number): words = PermitWords("taken", number)
    case .cancel(let number): words = PermitWords("cancel", number)
    case .release(let number): words = PermitWords("release", number)
    case .decline(let number):
      words = PermitWords("release", number)
      words.add("unused", "yes")
    case .settle(let number, let weights):
      words = PermitWords("settle", number)
      words.add(weights: weights)
    case .status: words = PermitWords("status")
    case .state:
      words = PermitWords("status")
      words.add("form", "words")
    case .pause(let pause): words = pause.words
    case .unknown(let verb): words = PermitWords(verb)
    }
    return words.line
  }
}

/// What a permit is for.
struct PermitAsk: Sendable, Hashable {
  let endPoint: EndPoint
  var lane = RequestLane.short
  var scopes: [RequestScope] = []
  var weights: [String: Int] = [:]

  init(_ endPoint: EndPoint) { self.endPoint = endPoint }

  init(_ demand: SharedDemand) {
    endPoint = demand.endPoint
    (lane, scopes, weights) = (demand.lane, demand.scopes, demand.weights)
  }

  init(_ words: PermitWords, _ line: String) throws(PermitProtocolError) {
    guard let text = words.first("for"), let endPoint = EndPoint(sharedName: text) else {
      throw PermitProtocolError("no valid end-point", line)
    }
    self.endPoint = endPoint
    for text in words.all("scope") {
      guard let scope = RequestScope(sharedName: text) else { throw PermitProtocolError("invalid scope", line) }
      scopes.append(scope)
    }
    guard let weights = words.weights else { throw PermitProtocolError("invalid weight", line) }
    self.weights = weights
    switch words.first("lane") ?? "short" {
    case "short": lane = .short
    case "long": lane = .long
    default: throw PermitProtocolError("unknown lane", line)
    }
  }

  func words(_ number: UInt64) -> PermitWords {
    var words = PermitWords("ask", number)
    words.add("for", endPoint.sharedName)
    if lane == .long { words.add("lane", "long") }
    for scope in scopes { words.add("scope", scope.sharedName) }
    words.add(weights: weights)
    return words
  }
}

extension SharedDemand {
  /// Why the protocol can't express it. Nil if it can. If it were sent anyway, the server would close the connection,
  /// on which other requests wait too.
  var problemOnTheWire: String? {
    if let name = weights.first(where: { $0.value < 0 })?.key { return "the weight \(ShownText.of(name)) is negative" }
    let commands =
      [.limitEndPoint(endPoint, limits), .ask(.max, PermitAsk(self))]
      + scopeLimits.map { PermitCommand.limitScope($0.key, $0.value) }
    return commands.allSatisfy { $0.line.utf8.count <= PermitWords.longestLine }
      ? nil : "its scopes, weights or limits take more than \(PermitWords.longestLine) bytes; give them shorter names"
  }
}

/// A line that is not part of the protocol.
struct PermitProtocolError: Error, Hashable {
  let text: String

  init(_ what: String, _ line: String) { text = "\(what): \(ShownText.of(line, atMost: 200))" }
}
