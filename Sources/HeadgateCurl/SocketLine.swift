// Decides which exchanges with a permit get a socket and which wait: the pure half of an end-point's sockets.
//
// If every request has a socket of its own, none waits here, since there are no more permits than sockets.
// With HTTP/2 many share a socket, and an exchange may have to wait: for the first handshake, which shows the
// server's version; for a connection being opened; or because all sockets are taken, by streams with one of their own
// or by connections that carry as many requests as their server allows.
//
// libcurl could do the waiting (CURLOPT_PIPEWAIT). But it wakes exchanges one at a time in an order across all
// end-points (7.88), so that one end-point's could block another's.

/// The queue for an end-point's sockets, first come, first served. Takes events; `next()` returns the exchange to
/// start.
///
/// An event takes O(log n) for n that wait.
struct SocketLine<Member: Hashable, Route: Hashable> {
  /// The version of HTTP that the server speaks over TLS.
  enum Speech { case unknown, http1, http2 }

  private(set) var speech = Speech.unknown
  private var waiting = WaitingMembers<Member, Route>()
  // The first exchange that offers HTTP/2. Others wait for its handshake; otherwise each would open a connection.
  private var probe: Member?
  // A handshake is complete, and libcurl knows the version. No exchange waits for another handshake.
  private var isProbed = false
  // Exchanges that open a connection to share.
  private var dialling: Set<Member> = []
  // An exchange was refused a socket. Now one at a time tries again.
  private var isTight = false
  private var trying: Member?
  // The last attempt was refused, and nothing has changed since.
  private var isStuck = false

  /// Whether no exchange waits.
  var isEmpty: Bool { waiting.isEmpty }

  /// An exchange arrives with its permit. Returns true if it starts at once, false if it waits.
  ///
  /// - Parameters:
  ///   - offers: Whether it may use HTTP/2 and share its connection.
  ///   - route: The route of a socket of its own.
  mutating func arrive(_ member: Member, offers: Bool, on route: @autoclosure () -> Route) -> Bool {
    // An exchange with a socket of its own overtakes those that wait for a handshake, but not those that were
    // refused.
    guard waiting.isEmpty || !offers && !isTight, mayTry(member, offers) else {
      waiting.append(member, offers: offers, on: route())
      return false
    }
    return true
  }

  /// Whether there is no other exchange's handshake to wait for. The first exchange performs it.
  private mutating func mayTry(_ member: Member, _ offers: Bool) -> Bool {
    guard offers, speech == .unknown, !isProbed else { return true }
    guard probe == nil else { return false }
    probe = member
    return true
  }

  /// Whether an exchange may open a connection now. Connections to share are opened one at a time, because the others
  /// may find room on them.
  func mayDial(_ member: Member, offers: Bool) -> Bool {
    !offers || speech != .http2 || dialling.isEmpty || dialling.contains(member)
  }

  /// Whether an exchange that was started after refusals has no connection yet.
  var isTrying: Bool { trying != nil }

  /// Whether an exchange waits for a socket on this route.
  func contains(_ route: Route) -> Bool { waiting.contains(route) }

  /// There is a socket for a route: moves its first exchange to the front. Returns false if none waits. Also if that
  /// exchange must wait for another's connection: it would be refused at once, and be promoted again.
  mutating func promote(_ route: Route) -> Bool {
    guard let first = waiting.first(for: route), mayDial(first.member, offers: first.offers) else { return false }
    waiting.promote(first)
    isStuck = false
    return true
  }

  /// Whether an exchange may open a socket.
  ///
  /// - Parameter hasRoom: Whether the end-point's limit allows another.
  mutating func mayOpen(_ member: Member, offers: Bool, hasRoom: Bool) -> Bool {
    guard hasRoom, mayDial(member, offers: offers) else {
      isTight = true
      isStuck = true
      return false
    }
    if offers { dialling.insert(member) }
    return true
  }

  /// An exchange that was refused a socket returns: to the front if it has waited before, otherwise to the end.
  mutating func refused(_ member: Member, offers: Bool, on route: Route, hasWaited: Bool) {
    if hasWaited {
      waiting.prepend(member, offers: offers, on: route)
    } else {
      waiting.append(member, offers: offers, on: route)
    }
    leave(member)
    (isTight, isStuck) = (true, true)
  }

  /// An exchange has its connection, new or reused.
  mutating func connected(_ member: Member) {
    if probe == member { isProbed = true }
    leave(member)
    isStuck = false
  }

  /// An exchange has ended or left the line.
  ///
  /// - Parameter hasFailed: It failed and was not cancelled. Then the others no longer wait for a handshake with a
  ///   server that does not respond.
  mutating func ended(_ member: Member, hasFailed: Bool) {
    if probe == member, hasFailed { isProbed = true }
    leave(member)
    if !waiting.isEmpty { waiting.remove(member) }
    isStuck = false
  }

  private mutating func leave(_ member: Member) {
    if probe == member { probe = nil }
    if !dialling.isEmpty { dialling.remove(member) }
    if trying == member { trying = nil }
    if waiting.isEmpty, trying == nil { isTight = false }
  }

  /// A socket was closed, or the limit was raised.
  mutating func socketsChanged() { isStuck = false }

  /// A response has shown the version that the server speaks with exchanges that offer HTTP/2.
  mutating func learned(http2: Bool) { speech = http2 ? .http2 : .http1 }

  /// Removes the next exchange to start; nil if none may start.
  mutating func next() -> Member? {
    guard let first = waiting.first, !isStuck, !isTight || trying == nil, mayTry(first.member, first.offers) else {
      return nil
    }
    waiting.remove(first.member)
    if isTight { trying = first.member }
    return first.member
  }
}
