// Who of those with a permit may go on to a socket, and who waits for one: the pure half of an end-point's sockets.
//
// As long as every request has a socket of its own none ever waits here: there are no more permits than sockets. Over
// HTTP/2 many share one, and then somebody may have to wait: for the first handshake, which shows what the server speaks;
// for the one connection that is being made; or because every socket is taken, by streams that need one of their own or by
// connections that carry as many requests as their server allows.
//
// libcurl could let them wait itself (CURLOPT_PIPEWAIT). It wakes them one at a time and in the order of all end-points
// (7.88), so that those of one could stand in the way of another's.

/// The line before an end-point's sockets. First come, first served; events in, `next()` says who goes on.
struct SocketLine<Member: Hashable> {
  /// What an end-point's server speaks over TLS.
  enum Speech { case unknown, http1, http2 }

  private(set) var speech = Speech.unknown
  private var waiting: [(member: Member, offers: Bool)] = []
  // The first that offers HTTP/2: others that do wait for its handshake, or each would make a connection.
  private var probe: Member?
  // A handshake is over, and libcurl knows what was spoken: none has to wait for another.
  private var isProbed = false
  // Those that make a connection to share.
  private var dialling: Set<Member> = []
  // Somebody was refused a socket: one at a time tries again.
  private var isTight = false
  private var trying: Member?
  // The last one was refused, and nothing has changed since.
  private var isStuck = false

  /// Whether none waits.
  var isEmpty: Bool { waiting.isEmpty }

  /// One comes with its permit. True: it goes on at once. False: it waits.
  ///
  /// - Parameter offers: Whether it may use HTTP/2, and share its connection.
  mutating func arrive(_ member: Member, offers: Bool) -> Bool {
    // Who needs a socket of its own overtakes those that wait for a handshake, and none that was refused.
    guard waiting.isEmpty || !offers && !isTight, mayTry(member, offers) else {
      waiting.append((member, offers))
      return false
    }
    return true
  }

  /// Whether there is no other's handshake to wait for. The first one is its own.
  private mutating func mayTry(_ member: Member, _ offers: Bool) -> Bool {
    guard offers, speech == .unknown, !isProbed else { return true }
    guard probe == nil else { return false }
    probe = member
    return true
  }

  /// Whether one may make a connection now: to share one, one at a time does, and the others may find room on it.
  func mayDial(_ member: Member, offers: Bool) -> Bool {
    !offers || speech != .http2 || dialling.isEmpty || dialling.contains(member)
  }

  /// Whether one that was let on from a line where others were refused has found nothing yet.
  var isTrying: Bool { trying != nil }

  /// Whether one of those that are meant waits.
  func contains(where isMeant: (Member) -> Bool) -> Bool { waiting.contains { isMeant($0.member) } }

  /// Lets the first of those that are meant go before all others, since there is a socket for it. False: there is none.
  mutating func promote(where isMeant: (Member) -> Bool) -> Bool {
    guard let index = waiting.firstIndex(where: { isMeant($0.member) }) else { return false }
    waiting.insert(waiting.remove(at: index), at: 0)
    isStuck = false
    return true
  }

  /// Whether one that wants to open a socket may.
  ///
  /// - Parameter hasRoom: Whether the end-point tolerates another.
  mutating func mayOpen(_ member: Member, offers: Bool, hasRoom: Bool) -> Bool {
    guard hasRoom, mayDial(member, offers: offers) else {
      isTight = true
      isStuck = true
      return false
    }
    if offers { dialling.insert(member) }
    return true
  }

  /// One that was refused a socket is back: in front if it has waited before, else at the end.
  mutating func refused(_ member: Member, offers: Bool, hasWaited: Bool) {
    if hasWaited { waiting.insert((member, offers), at: 0) } else { waiting.append((member, offers)) }
    leave(member)
    isTight = true
  }

  /// One has its connection, a new one or one that stood.
  mutating func connected(_ member: Member) {
    if probe == member { isProbed = true }
    leave(member)
    isStuck = false
  }

  /// One is over, or has gone out of the line.
  ///
  /// - Parameter hasFailed: It was not cancelled: none waits for a handshake with a server that does not answer.
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

  /// A socket was closed, or more are tolerated.
  mutating func socketsChanged() { isStuck = false }

  /// A response has shown what the server speaks with those that offer HTTP/2.
  mutating func learned(http2: Bool) { speech = http2 ? .http2 : .http1 }

  /// Takes out who goes on now; nil when none may.
  mutating func next() -> Member? {
    guard let first = waiting.first, !isStuck, !isTight || trying == nil, mayTry(first.member, first.offers) else {
      return nil
    }
    waiting.removeFirst()
    if isTight { trying = first.member }
    return first.member
  }
}
