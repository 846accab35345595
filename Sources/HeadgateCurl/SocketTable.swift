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
  /// Exchanges that know this object: libcurl holds a bare pointer to it.
  var users = 0
  // Open descriptors, and whether an exchange uses each.
  private var open: [Int32: Bool] = [:]
  // Unowned: the loop owns this object, and is alive whenever libcurl runs.
  private unowned let loop: CurlLoop

  init(_ endPoint: EndPoint, _ loop: CurlLoop) {
    self.endPoint = endPoint
    self.loop = loop
  }

  /// Nothing refers to it any more.
  var isUnused: Bool { users == 0 && open.isEmpty }

  func opened(_ descriptor: Int32) {
    open[descriptor] = true
    loop.socketCounts.set(open.count, of: endPoint)
  }

  func setBusy(_ descriptor: Int32, _ isBusy: Bool) {
    if open[descriptor] != nil { open[descriptor] = isBusy }
  }

  /// libcurl is done with a socket.
  func close(_ descriptor: Int32) {
    forget(descriptor)
    loop.willClose(descriptor)
    systemClose(descriptor)
    loop.forgetIfUnused(self)
  }

  /// Ends idle connections beyond the limit. libcurl offers no call for that: the connection is shut down beneath it,
  /// so that the server sees its end, and libcurl closes the socket when it next looks.
  func trim() {
    guard open.count > limit else { return }
    for (descriptor, isBusy) in open.sorted(by: { $0.key < $1.key }) where !isBusy && open.count > limit {
      shutdown(descriptor, Int32(SHUT_RDWR))
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
struct WatchTable {
  private struct Watch {
    var interest: PollInterest?
    var isWanted = false
  }

  private var watches: [Watch] = []

  /// libcurl wants to hear of a socket.
  mutating func want(_ descriptor: Int32, _ interest: PollInterest, _ poller: Poller) {
    let index = Int(descriptor)
    while watches.count <= index { watches.append(Watch()) }
    watches[index].isWanted = true
    guard watches[index].interest != interest else { return }
    if watches[index].interest == nil { poller.add(descriptor, interest) } else { poller.modify(descriptor, interest) }
    watches[index].interest = interest
  }

  /// libcurl wants to hear of it no more. It stays watched.
  mutating func unwant(_ descriptor: Int32) {
    guard Int(descriptor) < watches.count else { return }
    watches[Int(descriptor)].isWanted = false
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
