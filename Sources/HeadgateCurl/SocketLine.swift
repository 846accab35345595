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
struct SocketLine<Member: Hashable> {
  /// The version of HTTP that the server speaks over TLS.
  enum Speech { case unknown, http1, http2 }

  private(set) var speech = Speech.unknown
  private var waiting: [(member: Member, offers: Bool)] = []
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
  /// - Parameter offers: Whether it may use HTTP/2 and share its connection.
  mutating func arrive(_ member: Member, offers: Bool) -> Bool {
    // An exchange with a socket of its own overtakes those that wait for a handshake, but not those that were
    // refused.
    guard waiting.isEmpty || !offers && !isTight, mayTry(member, offers) else {
      waiting.append((member, offers))
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

  /// Whether a matching exchange waits.
  func contains(where isMeant: (Member) -> Bool) -> Bool { waiting.contains { isMeant($0.member) } }

  /// Moves the first matching exchange to the front, since there is a socket for it. Returns false if there is none.
  mutating func promote(where isMeant: (Member) -> Bool) -> Bool {
    guard let index = waiting.firstIndex(where: { isMeant($0.member) }) else { return false }
    waiting.insert(waiting.remove(at: index), at: 0)
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
  mutating func refused(_ member: Member, offers: Bool, hasWaited: Bool) {
    if hasWaited { waiting.insert((member, offers), at: 0) } else { waiting.append((member, offers)) }
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
    if !waiting.isEmpty { waiting.removeAll { $0.member == member } }
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
    waiting.removeFirst()
    if isTight { trying = first.member }
    return first.member
  }
}
