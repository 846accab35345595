import CCurl
import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The sockets of one end-point, or of one proxy. Touched by the loop's thread only.
final class EndPointSockets {
  let endPoint: EndPoint
  /// Its IPv6 address did not answer while an IPv4 one did: the next connections don't try.
  var prefersIPv4 = false
  /// Bodies on their way, by the connection that they are sent over.
  var uploads: [Int32: CurlUpload] = [:]
  /// Exchanges that know this object: libcurl holds a bare pointer to it.
  var users = 0
  /// Who waits for a socket.
  var line = SocketLine<ObjectIdentifier>()
  /// The loop was told to look at the line.
  var hasChanged = false

  /// A socket, as its exchanges hold it. An object: its users change with each exchange, and a dictionary's values are changed
  /// at the price of allocations.
  final class Socket {
    fileprivate let descriptor: Int32
    // Tells the socket from a later one of the same number.
    fileprivate let inode: UInt64
    fileprivate let route: SocketRoute
    // What it was leased by.
    fileprivate let leases: SocketLeases?
    // How many exchanges use it. A connection may go from one to the next before the first one's end is told.
    fileprivate var users = 0
    // 0 until the connection stands.
    fileprivate var localPort = 0
    fileprivate var isOpen = true

    /// Whether there are bytes to be read, or an end.
    var hasArrived: Bool { HeadgateCurl.hasArrived(at: descriptor) }

    fileprivate func giveBack() { leases?.giveBack(route) }

    fileprivate init(_ descriptor: Int32, inode: UInt64, _ route: SocketRoute, _ leases: SocketLeases?) {
      (self.descriptor, self.inode, self.route, self.leases) = (descriptor, inode, route, leases)
    }
  }

  private var open: [Int32: Socket] = [:]
  // The routes by which it waits for a socket from the gate, and those of them by which one is reserved.
  private var waiting: Set<SocketRoute> = []
  private var reserved: Set<SocketRoute> = []
  // Exchanges that were refused a socket, and that libcurl has not given back yet.
  private var refused: Set<ObjectIdentifier> = []
  // Those whose connections stand, by their local ports.
  private var byPort: [Int: Socket] = [:]
  // Descriptors that were shut down and libcurl has not closed yet: it still holds a pointer to this object.
  private var ended: Set<Int32> = []
  // Unowned: the loop owns this object, and is alive whenever libcurl runs.
  private unowned let loop: CurlLoop

  init(_ endPoint: EndPoint, _ loop: CurlLoop) {
    self.endPoint = endPoint
    self.loop = loop
  }

  /// Nothing refers to it any more.
  var isUnused: Bool { users == 0 && open.isEmpty && ended.isEmpty && waiting.isEmpty }

  /// Whether libcurl may open a socket for an exchange: then one is leased. Ends idle ones for it.
  func mayOpen(for transfer: CurlTransfer) -> Bool {
    let member = ObjectIdentifier(transfer)
    let isFree = line.mayDial(member, offers: transfer.offersHTTP2)
    let mayOpen = line.mayOpen(member, offers: transfer.offersHTTP2, hasRoom: isFree && lease(transfer.route))
    if mayOpen { refused.remove(member) } else { refused.insert(member) }
    return mayOpen
  }

  private func lease(_ route: SocketRoute) -> Bool {
    guard let leases = loop.leases else { return true }
    // First the loop's own idle connections make room: no other holder need be asked for that.
    var answer = leases.tryLease(route, waits: false)
    while case .full(let bound) = answer, loop.endIdle(for: bound, route) {
      answer = leases.tryLease(route, waits: false)
    }
    if answer != .leased { answer = leases.tryLease(route, waits: true) }
    reserved.remove(route)
    if answer == .leased { waiting.remove(route) } else { waiting.insert(route) }
    return answer == .leased
  }

  /// The socket that was leased for an exchange could not be made.
  func notOpened(for transfer: CurlTransfer) { loop.leases?.giveBack(transfer.route) }

  // MARK: The line

  /// Whether it waits for a socket from the gate.
  var waitsForSocket: Bool { !waiting.isEmpty }

  /// An exchange that was refused a socket is back in the line, or is over.
  func isBack(_ transfer: CurlTransfer) { refused.remove(ObjectIdentifier(transfer)) }

  /// The gate has reserved a socket. The exchange that needs it may be on its way back to the line.
  func reserve(_ route: SocketRoute) {
    guard waiting.contains(route) else { return loop.leases?.stopWaiting(route) ?? () }
    reserved.insert(route)
    line.socketsChanged()
  }

  /// Takes out who goes on now: first those for whom a socket is reserved.
  func next() -> ObjectIdentifier? {
    for route in reserved where line.promote(where: { loop.held[$0]?.route == route }) { break }
    return line.next()
  }

  /// Gives its place before the gate's sockets up where no exchange needs it any more.
  func stopWaitingInVain() {
    guard !waiting.isEmpty, refused.isEmpty, !line.isTrying else { return }
    for route in waiting where !line.contains(where: { loop.held[$0]?.route == route }) {
      waiting.remove(route)
      reserved.remove(route)
      loop.leases?.stopWaiting(route)
    }
  }

  // MARK: Sockets

  /// libcurl has opened a socket for an exchange.
  func opened(_ descriptor: Int32, for transfer: CurlTransfer) {
    // First, since the number may have been that of one that was closed without a word.
    forget(descriptor)
    open[descriptor] = Socket(descriptor, inode: Self.inode(descriptor), transfer.route, loop.leases)
    loop.didOpen(descriptor, of: self)
    used(descriptor, by: transfer)
  }

  /// An exchange uses a socket, and no other one. False: the socket is none of these.
  @discardableResult
  func used(_ descriptor: Int32, by transfer: CurlTransfer) -> Bool {
    if let use = transfer.use, use.isOpen, use.descriptor == descriptor { return true }
    guard let socket = open[descriptor] else { return false }
    released(by: transfer)
    socket.users += 1
    transfer.use = socket
    return true
  }

  /// An exchange has its connection. Of one that stood libcurl tells by its local port only, before it has the socket
  /// watched: without this the first bytes of the answer could look unasked for.
  func connected(localPort port: Int, by transfer: CurlTransfer) {
    // Those of Unix-domain sockets have none.
    guard port > 0 else { return }
    if let socket = transfer.use, socket.isOpen, socket.localPort == 0 {
      socket.localPort = port
      byPort[port] = socket
    } else if let socket = byPort[port], socket.isOpen {
      used(socket.descriptor, by: transfer)
    }
  }

  /// An exchange has ended: the connection is idle unless another uses it too.
  func released(by transfer: CurlTransfer) {
    if let socket = transfer.use.take() { socket.users -= 1 }
  }

  /// Forgets those of some sockets that libcurl has closed without a word, as it does (7.88) with those that never
  /// connected.
  func sweep(_ descriptors: [Int32]) {
    for descriptor in descriptors {
      if let socket = open[descriptor], Self.inode(descriptor) != socket.inode { forget(descriptor) }
    }
  }

  private static func inode(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// libcurl is done with a socket.
  func close(_ descriptor: Int32) {
    let upload = uploads.removeValue(forKey: descriptor)
    ended.remove(descriptor)
    let socket = take(descriptor)
    loop.willClose(descriptor)
    // What is left of a body that was given up would keep the socket open at a server that does not read, while the permit
    // goes on.
    if let upload, !upload.mustArrive, Self.hasUnsentBytes(descriptor) {
      var atOnce = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }
    systemClose(descriptor)
    // Last: another thread may open the next one at once.
    socket?.giveBack()
    loop.forgetIfUnused(self)
  }

  /// Ends the idle connections that the gate needs elsewhere, or that are beyond a lowered limit.
  func reviewIdle() {
    guard let leases = loop.leases, leases.hasShortage else { return }
    for (descriptor, socket) in open where socket.users == 0 && leases.mustClose(socket.route) { endIdle(descriptor) }
  }

  /// Ends an idle connection to make room for another socket. Also where libcurl wants another one although one is idle,
  /// because that one does not fit (plain http to a port that speaks TLS now). False: there is none.
  func endIdle(where isMeant: (SocketRoute) -> Bool) -> Bool {
    guard let idle = open.values.first(where: { $0.users == 0 && isMeant($0.route) }) else { return false }
    endIdle(idle.descriptor)
    return true
  }

  /// Forgets all that libcurl has closed without a word. True if there were any.
  func sweep() -> Bool {
    let count = open.count
    sweep(Array(open.keys))
    return open.count < count
  }

  /// libcurl offers no call that ends an idle connection: it is shut down beneath it, so that the server sees its end, and
  /// libcurl closes the socket when it next looks.
  private func endIdle(_ descriptor: Int32) {
    // The number of one that was closed without a word may be another's by now.
    if let socket = open[descriptor], Self.inode(descriptor) == socket.inode {
      shutdown(descriptor, Int32(SHUT_RDWR))
      ended.insert(descriptor)
    }
    forget(descriptor)
  }

  /// Ends a connection on which something has arrived, if no exchange uses it, and throws away what has. As long as there
  /// are bytes to be read libcurl (7.88) takes a connection that was shut down for a good one.
  func dropIdle(_ descriptor: Int32) {
    // Those of Unix-domain sockets have no ports to be known by.
    guard open[descriptor]?.users == 0, !endPoint.isUnixSocket else { return }
    #if !canImport(Darwin)
    var byte = UInt8(0)
    guard recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else { return endIdle(descriptor) }
    // Without an address `connect` takes a connection off its socket, with all that has arrived. The error that this
    // leaves behind is taken too: libcurl would meet it in the place of the end.
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
    #endif
    endIdle(descriptor)
  }

  private static func hasUnsentBytes(_ descriptor: Int32) -> Bool {
    var count: Int32 = 0
    #if canImport(Darwin)
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 && count > 0
    #else
    // SIOCOUTQNSD: those that were not sent yet. What is sent and not acknowledged is on its way.
    return ioctl(descriptor, UInt(0x894B), &count) == 0 && count > 0
    #endif
  }

  /// Forgets a socket whose end the server sees already.
  private func forget(_ descriptor: Int32) { take(descriptor)?.giveBack() }

  private func take(_ descriptor: Int32) -> Socket? {
    guard let socket = open.removeValue(forKey: descriptor) else { return nil }
    socket.isOpen = false
    if byPort[socket.localPort] === socket { byPort[socket.localPort] = nil }
    line.socketsChanged()
    loop.lineChanged(self)
    return socket
  }
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
