import HeadgateThreads

/// The sockets that the poller watches. libcurl stops watching a socket when an exchange ends and watches it again
/// for the next one: two system calls for each request. Here an idle socket stays watched for input, which is almost
/// always what libcurl last wanted, and what the next exchange wants.
///
/// This applies only to connections, whose closing is reported. libcurl closes the pipes of its name look-ups without
/// notice, and a reused descriptor must not look as if it were watched.
struct WatchTable {
  private struct Watch {
    var interest: PollInterest?
    var isWanted = false
    // The end-point's sockets, for a connection.
    var place: EndPointSockets?
    var isConnection: Bool { place != nil }
    // The loop's multi handle that it belongs to.
    var use = CurlMulti.Use.own
  }

  private var watches: [Watch] = []

  /// A connection's socket was created. Discards the state of an earlier socket with this descriptor.
  mutating func opened(_ descriptor: Int32, of place: EndPointSockets) {
    makeRoom(descriptor)
    watches[Int(descriptor)] = Watch(place: place)
  }

  /// libcurl wants events of a socket, which may be a connection or something else.
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

  /// libcurl wants no more events of a socket. A connection stays watched, for input.
  mutating func unwant(_ descriptor: Int32, _ poller: Poller) {
    let index = Int(descriptor)
    guard index < watches.count else { return }
    guard watches[index].isConnection else { return close(descriptor, poller) }
    watches[index].isWanted = false
    // libcurl 8.6 and later look for the response as soon as the request is sent. An exchange may thus end in the call in
    // which it was connected, while its socket is still watched for output: an idle one is always ready for that.
    guard let interest = watches[index].interest, interest != .read else { return }
    poller.modify(descriptor, .read)
    watches[index].interest = .read
  }

  private mutating func makeRoom(_ descriptor: Int32) {
    while watches.count <= Int(descriptor) { watches.append(Watch()) }
  }

  /// A socket has an event. Returns false, and stops watching it, if libcurl does not want the event.
  mutating func isWanted(_ descriptor: Int32, _ poller: Poller) -> Bool {
    guard Int(descriptor) < watches.count else { return false }
    if watches[Int(descriptor)].isWanted { return true }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)].interest = nil
    return false
  }

  /// The end-point's sockets of a connection.
  func place(of descriptor: Int32) -> EndPointSockets? {
    Int(descriptor) < watches.count ? watches[Int(descriptor)].place : nil
  }

  /// The multi handle of a socket that is wanted.
  func use(of descriptor: Int32) -> CurlMulti.Use { watches[Int(descriptor)].use }

  /// A socket is about to be closed, which also removes it from the kernel's poller.
  mutating func close(_ descriptor: Int32, _ poller: Poller) {
    guard Int(descriptor) < watches.count else { return }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)] = Watch()
  }
}
