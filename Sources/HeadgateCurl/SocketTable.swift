import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The sockets of one end-point. Touched by the loop's thread only.
final class EndPointSockets {
  let endPoint: EndPoint
  /// The most that may be open.
  var limit = Int.max
  /// Its IPv6 address did not answer while an IPv4 one did: the next connections don't try.
  var prefersIPv4 = false
  /// Bodies on their way, by the connection that they are sent over.
  var uploads: [Int32: CurlUpload] = [:]
  /// Exchanges that know this object: libcurl holds a bare pointer to it.
  var users = 0
  // An object: its owner changes with each exchange, and a dictionary's values are changed at the price of allocations.
  private final class Socket {
    // Who uses it. A connection may go from one exchange to the next before the first one's end is told.
    var owner: ObjectIdentifier?
    // Tells the socket from a later one of the same number.
    let inode: UInt64

    init(owner: ObjectIdentifier, inode: UInt64) {
      self.owner = owner
      self.inode = inode
    }
  }

  // Not checked at each access: no call of the dictionary's comes back to it.
  @exclusivity(unchecked) private var open: [Int32: Socket] = [:]
  // Descriptors that `trim` has shut down and libcurl has not closed yet: it still holds a pointer to this object.
  private var ended: Set<Int32> = []
  // Unowned: the loop owns this object, and is alive whenever libcurl runs.
  private unowned let loop: CurlLoop

  init(_ endPoint: EndPoint, _ loop: CurlLoop) {
    self.endPoint = endPoint
    self.loop = loop
  }

  /// Nothing refers to it any more.
  var isUnused: Bool { users == 0 && open.isEmpty && ended.isEmpty }

  /// libcurl has opened a socket for an exchange.
  func opened(_ descriptor: Int32, for transfer: CurlTransfer) {
    open[descriptor] = Socket(owner: ObjectIdentifier(transfer), inode: Self.inode(descriptor))
    loop.didOpen(descriptor)
    loop.socketCounts.set(open.count, of: endPoint)
  }

  func used(_ descriptor: Int32, by transfer: CurlTransfer) { open[descriptor]?.owner = ObjectIdentifier(transfer) }

  /// An exchange has ended: what it used, and nobody else uses since, is idle.
  func released(by transfer: CurlTransfer) {
    let owner = ObjectIdentifier(transfer)
    if transfer.socketsUsed == 1, transfer.opened == 0 {
      if let socket = open[transfer.socket], socket.owner == owner { socket.owner = nil }
      return
    }
    for socket in open.values where socket.owner == owner { socket.owner = nil }
  }

  func owns(_ descriptor: Int32) -> Bool { open[descriptor] != nil }

  /// Forgets the sockets that libcurl has closed without a word, as it does (7.88) with those that never connected.
  func sweep() {
    for (descriptor, socket) in open where Self.inode(descriptor) != socket.inode { forget(descriptor) }
  }

  private static func inode(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// libcurl is done with a socket.
  func close(_ descriptor: Int32) {
    uploads.removeValue(forKey: descriptor)?.rescue(from: descriptor)
    ended.remove(descriptor)
    forget(descriptor)
    loop.willClose(descriptor)
    systemClose(descriptor)
    loop.forgetIfUnused(self)
  }

  /// Ends idle connections beyond the limit. libcurl offers no call for that: the connection is shut down beneath it,
  /// so that the server sees its end, and libcurl closes the socket when it next looks.
  ///
  /// Also called when libcurl wants another socket although one is idle, because that one does not fit (plain http to a
  /// port that speaks TLS now): then there has to be room for one more.
  func trim(roomFor more: Int = 0) {
    guard open.count + more > limit else { return }
    for (descriptor, socket) in open.sorted(by: { $0.key < $1.key })
    where socket.owner == nil && open.count + more > limit {
      shutdown(descriptor, Int32(SHUT_RDWR))
      ended.insert(descriptor)
      forget(descriptor)
    }
  }

  private func forget(_ descriptor: Int32) {
    open[descriptor] = nil
    loop.socketCounts.set(open.count, of: endPoint)
  }
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }

/// How many sockets are open where, for those who ask from other threads.
final class SocketCounts: Sendable {
  private let counts = Locked<[EndPoint: Int]>([:])

  func set(_ count: Int, of endPoint: EndPoint) {
    counts.withLock { $0[endPoint] = count == 0 ? nil : count }
  }

  func count(of endPoint: EndPoint) -> Int { counts.withLock { $0[endPoint] ?? 0 } }
}

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
  }

  private var watches: [Watch] = []

  /// A connection's socket was made. Whatever had its number before is gone.
  mutating func opened(_ descriptor: Int32) {
    makeRoom(descriptor)
    watches[Int(descriptor)] = Watch(isConnection: true)
  }

  /// libcurl wants to hear of a socket, which is a connection's or another's.
  mutating func want(_ descriptor: Int32, _ interest: PollInterest, isConnection: Bool, _ poller: Poller) {
    makeRoom(descriptor)
    let index = Int(descriptor)
    if watches[index].isConnection != isConnection { watches[index] = Watch(isConnection: isConnection) }
    watches[index].isWanted = true
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

  /// The socket is about to be closed, which makes the kernel forget it too.
  mutating func close(_ descriptor: Int32, _ poller: Poller) {
    guard Int(descriptor) < watches.count else { return }
    if watches[Int(descriptor)].interest != nil { poller.remove(descriptor) }
    watches[Int(descriptor)] = Watch()
  }
}
