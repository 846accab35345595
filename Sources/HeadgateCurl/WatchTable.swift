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
    // The end-point's, for a connection.
    var place: EndPointSockets?
    var isConnection: Bool { place != nil }
    // Which of the loop's multi handles it belongs to.
    var use = CurlMulti.Use.own
  }

  private var watches: [Watch] = []

  /// A connection's socket was made. Whatever had its number before is gone.
  mutating func opened(_ descriptor: Int32, of place: EndPointSockets) {
    makeRoom(descriptor)
    watches[Int(descriptor)] = Watch(place: place)
  }

  /// libcurl wants to hear of a socket, which is a connection's or another's.
  mutating func want(
    _ descriptor: Int32, _ interest: PollInterest, of place: EndPointSockets?, use: CurlMulti.Use, _ poller: Poller
  ) {
    makeRoom(descriptor)
    let index = Int(descriptor)
    if watches[index].place !== place { watches[index] = Watch(place: place) }
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

  /// Something happened on a socket. False: nobody wants to know, and it is watched no longer.
  mutating func isWanted(_ descriptor: Int32, _ poller: Poller) -> Bool {
    guard Int(descriptor) < watches.count else { return false }
    if watches[Int(descriptor)].isWanted { return true }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)].interest = nil
    return false
  }

  /// The end-point of a connection.
  func place(of descriptor: Int32) -> EndPointSockets? {
    Int(descriptor) < watches.count ? watches[Int(descriptor)].place : nil
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
