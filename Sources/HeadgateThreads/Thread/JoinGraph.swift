/// Who waits without a limit for whose end, so that threads which would wait for each other are told instead.
///
/// A thread joins one other at a time, so the graph is a set of chains and a look along one finds the ring. Waits with a
/// deadline end by themselves and don't count.
enum JoinGraph {
  // Its own lock and not the threads': a chain is only true while none of its links moves.
  private static let waits = Locked([ObjectIdentifier: ThreadRecord]())

  /// Notes that one thread waits for another's end. False: that one waits, through others perhaps, for the first.
  static func enter(_ waiting: ThreadRecord, waitsFor ending: ThreadRecord) -> Bool {
    waits.withLock { waits in
      var last = ending
      while let next = waits[ObjectIdentifier(last)] {
        if next === waiting { return false }
        last = next
      }
      waits[ObjectIdentifier(waiting)] = ending
      return true
    }
  }

  /// Takes the note back.
  static func leave(_ waiting: ThreadRecord) {
    // The record leaves the lock before it is let go.
    let ending = waits.withLock { $0.removeValue(forKey: ObjectIdentifier(waiting)) }
    _ = consume ending
  }
}
