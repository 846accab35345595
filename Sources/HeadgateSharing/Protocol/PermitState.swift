import HeadgateGate
import HeadgateThreads

/// What a permit server knows at one moment, for programs: who holds and who waits. The text for people is in
/// ``PermitStatus``.
package struct PermitState: Hashable, Sendable {
  /// An end-point or a scope.
  package struct Place: Hashable, Sendable {
    /// `host:port`, the name of a resource, or the text of a scope.
    package let name: String
    package let running: Int
    package let waiting: Int
    /// The number of permits that may be held at a time. Nil for a scope without such a limit.
    package let limit: Int?
    /// How long the oldest request has waited. Nil if none waits, and for scopes.
    package var oldest: Duration?
    /// Why the next request waits. Nil if none does.
    package var reason: String?

    package init(_ name: String, running: Int, waiting: Int, limit: Int?) {
      (self.name, self.running, self.waiting, self.limit) = (name, running, waiting, limit)
    }
  }

  /// A permit that is held.
  struct Holder: Hashable, Sendable {
    let permit: UInt64
    let place: String
  }

  /// A request that waits.
  struct Waiter: Hashable, Sendable {
    /// The program that has asked, as the server's system sees it. Zero if unknown.
    let process: Int32
    let place: String
    /// When it asked, in milliseconds since 1970.
    let since: Int64
  }

  /// The most end-points, holders and waiters that are listed, each. The numbers count all of them.
  static let most = 1000

  package var programs = 0
  package var held = 0
  package var waiting = 0
  package var places: [Place] = []
  var holders: [Holder] = []
  var waiters: [Waiter] = []

  package init() {}

  /// Reads lines of the protocol. Nil if they don't begin with the numbers, as those of an earlier server do not. Lines
  /// that a later server adds are left out.
  init?(lines: [String]) {
    guard let first = lines.first.flatMap({ PermitWords(line: $0) }), first.verb == "server",
      let programs = first.int("programs"), let held = first.int("held"), let waiting = first.int("waiting")
    else { return nil }
    (self.programs, self.held, self.waiting) = (programs, held, waiting)
    for words in lines.dropFirst().compactMap({ PermitWords(line: $0) }) {
      guard let name = words.first("for").flatMap({ PermitWords.unescaped($0) }) else { continue }
      switch (words.verb, words.number) {
      case ("place", nil):
        guard let running = words.int("running"), let waiting = words.int("waiting") else { continue }
        var place = Place(name, running: running, waiting: waiting, limit: words.int("limit"))
        place.oldest = words.int("oldest").map { .milliseconds($0) }
        place.reason = words.first("reason").flatMap { PermitWords.unescaped($0) }
        places.append(place)
      case ("held", let permit?): holders.append(Holder(permit: permit, place: name))
      case ("waits", let process?):
        waiters.append(
          Waiter(process: Int32(clamping: process), place: name, since: Int64(words.int("since") ?? 0)))
      default: continue
      }
    }
  }

  /// The lines of the protocol.
  var lines: [String] {
    var first = PermitWords("server")
    first.add("programs", "\(programs)")
    first.add("held", "\(held)")
    first.add("waiting", "\(waiting)")
    let places = places.prefix(Self.most).map { place in
      var words = PermitWords("place")
      words.add("for", PermitWords.escaped(place.name))
      words.add("running", "\(place.running)")
      words.add("waiting", "\(place.waiting)")
      if let limit = place.limit { words.add("limit", "\(limit)") }
      if let oldest = place.oldest { words.add("oldest", "\(oldest.wholeNanoseconds / 1_000_000)") }
      if let reason = place.reason { words.add("reason", PermitWords.escaped(reason)) }
      return words
    }
    let holders = holders.prefix(Self.most).map { holder in
      var words = PermitWords("held", holder.permit)
      words.add("for", PermitWords.escaped(holder.place))
      return words
    }
    let waiters = waiters.prefix(Self.most).map { waiter in
      var words = PermitWords("waits", UInt64(max(0, waiter.process)))
      words.add("for", PermitWords.escaped(waiter.place))
      words.add("since", "\(waiter.since)")
      return words
    }
    return ([first] + places + holders + waiters).map(\.line)
  }
}

extension PermitState {
  /// The numbers of a gate.
  init(_ snapshot: GateSnapshot, programs: Int) {
    (self.programs, held, waiting) = (programs, snapshot.running, snapshot.waiting)
    places = snapshot.endPoints.prefix(Self.most).map { entry in
      var place = Place(
        entry.endPoint.description, running: entry.running, waiting: entry.waiting, limit: entry.limits.requests)
      place.oldest = entry.oldestWait
      place.reason = entry.waitReason?.description
      return place
    }
    places += snapshot.scopes.prefix(Self.most).map { entry in
      var place = Place(
        entry.scope.description, running: entry.running, waiting: entry.waiting, limit: entry.limits?.requests)
      place.reason = entry.waitReason?.description
      return place
    }
  }
}

extension PermitWords {
  /// A whole number of zero or more. Nil if it is missing or malformed.
  fileprivate func int(_ name: String) -> Int? { first(name).flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 } }
}
