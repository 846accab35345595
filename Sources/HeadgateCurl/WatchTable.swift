import HeadgateThreads

/// What the poller watches. libcurl asks to forget a socket whenever an exchange ends and to watch it again for the
/// next one: two system calls a request. An idle socket stays watched instead, for what libcurl last wanted; the next
/// exchange on it nearly always wants the same.
///
/// That holds for connections only, whose closing is told. The pipes of its name look-ups libcurl closes without a
/// word, and a number that the system gives out anew must not look as if it were watched.
struct WatchTable {
  private struct Watch {
    var interest: PollInterest?
    var isWanted = false
    var isConnection = false
    // Which of the loop's multi handles it belongs to.
    var use = CurlMulti.Use.own
  }

  private var watches: [Watch] = []

  /// A connection's socket was made. Whatever had its number before is gone.
  mutating func opened(_ descriptor: Int32) {
    makeRoom(descriptor)
    watches[Int(descriptor)] = Watch(isConnection: true)
  }

  /// libcurl wants to hear of a socket, which is a connection's or another's.
  mutating func want(
    _ descriptor: Int32, _ interest: PollInterest, isConnection: Bool, use: CurlMulti.Use, _ poller: Poller
  ) {
    makeRoom(descriptor)
    let index = Int(descriptor)
    if watches[index].isConnection != isConnection { watches[index] = Watch(isConnection: isConnection) }
    watches[index].isWanted = true
    watches[index].use = use
    guard watches[index].interest != interest else { return }
    if watches[index].interest == nil { poller.add(descriptor, interest) } else { poller.modify(descriptor, interest) }
    watches[index].interest = interest
  }

  /// libcurl wants to hear of it no more. A connection stays watched.
  mutating func unwant(_ descriptor: Int32, _ poller: Poller) {
    guard Int(descriptor) < watches.count else { return }
    if watches[Int(descriptor)].isConnection {
      watches[Int(descriptor)].isWanted = false
    } else {
      close(descriptor, poller)
    }
  }

  private mutating func makeRoom(_ descriptor: Int32) {
    while watches.count <= Int(descriptor) { watches.append(Watch()) }
  }

  /// Something happened on a socket. False: nobody wants to know (an idle connection was closed by the server), and it
  /// is watched no longer.
  mutating func isWanted(_ descriptor: Int32, _ poller: Poller) -> Bool {
    guard Int(descriptor) < watches.count else { return false }
    if watches[Int(descriptor)].isWanted { return true }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)].interest = nil
    return false
  }

  /// Whose socket it is, of one that is wanted.
  func use(of descriptor: Int32) -> CurlMulti.Use { watches[Int(descriptor)].use }

  /// The socket is about to be closed, which makes the kernel forget it too.
  mutating func close(_ descriptor: Int32, _ poller: Poller) {
    guard Int(descriptor) < watches.count else { return }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)] = Watch()
  }
}
