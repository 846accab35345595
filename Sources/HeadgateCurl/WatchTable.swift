import HeadgateThreads

/// The sockets that the poller watches. libcurl stops watching a socket when an exchange ends and watches it again
/// for the next one: two system calls for each request. Here an idle socket stays watched for input, which is almost
/// always what libcurl last wanted, and what the next exchange wants.
///
/// This applies only to connections, whose closing is reported. libcurl closes the pipes of its name look-ups without
/// notice, and a reused descriptor must not look as if it were watched.
struct WatchTable {
  private struct Watch {
    // What the poller watches for; nil if it does not know the socket.
    var watched: PollInterest?
    // What libcurl wants.
    var interest = PollInterest.read
    var isWanted = false
    // Input stays in the socket.
    var isHeldBack = false
    // Nil if it is not a connection.
    var socket: CurlSocket?
    // The loop's multi handle that it belongs to.
    var use = CurlMulti.Use.own
  }

  private var watches: [Watch] = []

  /// A connection's socket was created. Discards the state of an earlier socket with this descriptor.
  mutating func opened(_ socket: CurlSocket) {
    makeRoom(socket.descriptor)
    watches[Int(socket.descriptor)] = Watch(socket: socket)
  }

  /// libcurl wants events of a socket, which may be a connection or something else.
  mutating func want(
    _ descriptor: Int32, _ interest: PollInterest, of socket: CurlSocket?, use: CurlMulti.Use, _ poller: Poller
  ) {
    makeRoom(descriptor)
    let index = Int(descriptor)
    if watches[index].socket !== socket { watches[index] = Watch(socket: socket) }
    watches[index].isWanted = true
    watches[index].use = use
    watches[index].interest = interest
    update(index, poller)
  }

  /// libcurl wants no more events of a socket. A connection stays watched, for input.
  mutating func unwant(_ descriptor: Int32, _ poller: Poller) {
    let index = Int(descriptor)
    guard index < watches.count else { return }
    guard watches[index].socket != nil else { return close(descriptor, poller) }
    watches[index].isWanted = false
    watches[index].isHeldBack = false
    // libcurl 8.6 and later look for the response as soon as the request is sent. An exchange may thus end in the call in
    // which it was connected, while its socket is still watched for output: an idle one is always ready for that.
    watches[index].interest = .read
    if watches[index].watched != nil { update(index, poller) }
  }

  /// Leaves input in the socket, or reads it again. The kernel then tells the server to wait.
  mutating func holdBack(_ isHeldBack: Bool, _ descriptor: Int32, _ poller: Poller) {
    let index = Int(descriptor)
    guard index < watches.count else { return }
    // libcurl may pause in the call in which it sent the request, before it wants the socket watched.
    watches[index].isHeldBack = isHeldBack
    if watches[index].isWanted { update(index, poller) }
  }

  private mutating func update(_ index: Int, _ poller: Poller) {
    var interest = watches[index].interest
    if watches[index].isHeldBack { interest.remove(.read) }
    // Even without any interest, epoll would report the end of the connection again and again.
    let wanted = interest.isEmpty ? nil : interest
    guard watches[index].watched != wanted else { return }
    if let wanted {
      if watches[index].watched == nil { poller.add(Int32(index), wanted) } else { poller.modify(Int32(index), wanted) }
    } else {
      poller.remove(Int32(index))
    }
    watches[index].watched = wanted
  }

  private mutating func makeRoom(_ descriptor: Int32) {
    while watches.count <= Int(descriptor) { watches.append(Watch()) }
  }

  /// A socket has an event. Returns false, and stops watching it, if libcurl does not want the event.
  mutating func isWanted(_ descriptor: Int32, _ poller: Poller) -> Bool {
    guard Int(descriptor) < watches.count else { return false }
    if watches[Int(descriptor)].isWanted { return true }
    if watches[Int(descriptor)].watched != nil { poller.remove(descriptor) }
    watches[Int(descriptor)].watched = nil
    return false
  }

  /// The connection of a descriptor; nil if it is not a connection.
  func socket(of descriptor: Int32) -> CurlSocket? {
    Int(descriptor) < watches.count ? watches[Int(descriptor)].socket : nil
  }

  /// The multi handle of a socket that is wanted.
  func use(of descriptor: Int32) -> CurlMulti.Use { watches[Int(descriptor)].use }

  /// A socket is about to be closed, which also removes it from the kernel's poller.
  mutating func close(_ descriptor: Int32, _ poller: Poller) {
    guard Int(descriptor) < watches.count else { return }
    if watches[Int(descriptor)].watched != nil { poller.remove(descriptor) }
    watches[Int(descriptor)] = Watch()
  }

  /// A connection was closed without notice. The descriptor may be another's by now.
  mutating func forget(_ socket: CurlSocket) {
    guard self.socket(of: socket.descriptor) === socket else { return }
    watches[Int(socket.descriptor)] = Watch()
  }
}
