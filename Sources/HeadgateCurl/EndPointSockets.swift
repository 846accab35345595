import CCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// The sockets of one end-point or proxy. Used only on the loop's thread.
final class EndPointSockets {
  let endPoint: EndPoint
  /// An IPv6 address did not respond and an IPv4 address did: new connections skip IPv6.
  var prefersIPv4 = false
  /// Bodies being sent, by their sockets.
  var uploads: [Int32: CurlUpload] = [:]
  /// The number of exchanges that use this object; libcurl holds a raw pointer to it.
  var users = 0
  /// The exchanges waiting for a socket.
  var line = SocketLine<ObjectIdentifier>()
  /// The loop will check the line.
  var hasChanged = false

  /// A socket. A class, because its user count changes with each exchange, and changing a dictionary's value in place
  /// would allocate.
  final class Socket {
    fileprivate let descriptor: Int32
    // Distinguishes the socket from a later one with the same descriptor.
    fileprivate let inode: UInt64
    fileprivate let route: SocketRoute
    // Where it was leased.
    fileprivate let leases: SocketLeases?
    // The number of exchanges that use it. A connection may pass to the next exchange before the end of the previous
    // one is reported.
    fileprivate var users = 0
    // 0 until the connection is established.
    fileprivate var localPort = 0
    fileprivate var isOpen = true

    /// Whether there are bytes or an end of stream to read.
    var hasArrived: Bool { HeadgateCurl.hasArrived(at: descriptor) }

    fileprivate func release() { leases?.release(route) }

    fileprivate init(_ descriptor: Int32, inode: UInt64, _ route: SocketRoute, _ leases: SocketLeases?) {
      (self.descriptor, self.inode, self.route, self.leases) = (descriptor, inode, route, leases)
    }
  }

  private var open: [Int32: Socket] = [:]
  // The routes waiting for a socket from the gate, and those for which one is reserved.
  private var waiting: Set<SocketRoute> = []
  private var reserved: Set<SocketRoute> = []
  // Exchanges that were refused a socket and that libcurl has not returned yet.
  private var refused: Set<ObjectIdentifier> = []
  // Sockets with established connections, by local port.
  private var byPort: [Int: Socket] = [:]
  // Descriptors that were shut down but not closed by libcurl yet: it still holds a pointer to this object.
  private var ended: Set<Int32> = []
  // Unowned: the loop owns this object and exists whenever libcurl runs.
  private unowned let loop: CurlLoop

  init(_ endPoint: EndPoint, _ loop: CurlLoop) {
    self.endPoint = endPoint
    self.loop = loop
  }

  /// Whether nothing refers to the object any more.
  var isUnused: Bool { users == 0 && open.isEmpty && ended.isEmpty && waiting.isEmpty }

  /// Whether there is a connection that the next exchange can use.
  func mayReuse(offersHTTP2: Bool) -> Bool {
    offersHTTP2 && line.speech == .http2 ? !open.isEmpty : open.values.contains { $0.users == 0 }
  }

  /// Whether libcurl may open a socket for an exchange. If so, one has been leased. Closes idle sockets to make room.
  func mayOpen(for transfer: CurlTransfer) -> Bool {
    let member = ObjectIdentifier(transfer)
    let isFree = line.mayDial(member, offers: transfer.offersHTTP2)
    let mayOpen = line.mayOpen(member, offers: transfer.offersHTTP2, hasRoom: isFree && lease(transfer.route))
    if mayOpen { refused.remove(member) } else { refused.insert(member) }
    return mayOpen
  }

  private func lease(_ route: SocketRoute) -> Bool {
    guard let leases = loop.leases else { return true }
    // The loop's own idle connections are closed first, without asking other holders.
    var answer = leases.tryLease(route, waits: false)
    while case .full(let bound) = answer, loop.endIdle(for: bound, route) {
      answer = leases.tryLease(route, waits: false)
    }
    if answer != .leased { answer = leases.tryLease(route, waits: true) }
    reserved.remove(route)
    if answer == .leased { waiting.remove(route) } else { waiting.insert(route) }
    return answer == .leased
  }

  /// The socket leased for an exchange could not be created.
  func notOpened(for transfer: CurlTransfer) { loop.leases?.release(transfer.route) }

  // MARK: The line

  /// Whether it waits for a socket from the gate.
  var waitsForSocket: Bool { !waiting.isEmpty }

  /// An exchange that was refused a socket is back in the line, or has ended.
  func isBack(_ transfer: CurlTransfer) { refused.remove(ObjectIdentifier(transfer)) }

  /// The gate has reserved a socket. The exchange that needs it may not be back in the line yet.
  func reserve(_ route: SocketRoute) {
    guard waiting.contains(route) else { return loop.leases?.stopWaiting(route) ?? () }
    reserved.insert(route)
    line.socketsChanged()
  }

  /// Removes the next exchange to start. Exchanges with a reserved socket go first.
  func next() -> ObjectIdentifier? {
    for route in reserved where line.promote(where: { loop.held[$0]?.route == route }) { break }
    return line.next()
  }

  /// Stops waiting at the gate for sockets that no exchange needs any more.
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
    // First, because libcurl may have closed an earlier socket with this descriptor without notice.
    forget(descriptor)
    open[descriptor] = Socket(descriptor, inode: Self.inode(descriptor), transfer.route, loop.leases)
    loop.didOpen(descriptor, of: self)
    used(descriptor, by: transfer)
  }

  /// Records that an exchange uses this socket and no other. Returns false if the socket is unknown.
  @discardableResult
  func used(_ descriptor: Int32, by transfer: CurlTransfer) -> Bool {
    if let use = transfer.use, use.isOpen, use.descriptor == descriptor { return true }
    guard let socket = open[descriptor] else { return false }
    released(by: transfer)
    socket.users += 1
    transfer.use = socket
    return true
  }

  /// An exchange has its connection. For a reused connection libcurl reports only the local port before it watches
  /// the socket. Without this, the first bytes of the response could be mistaken for unexpected ones.
  func connected(localPort port: Int, by transfer: CurlTransfer) {
    // Unix-domain sockets have no ports.
    guard port > 0 else { return }
    if let socket = transfer.use, socket.isOpen, socket.localPort == 0 {
      socket.localPort = port
      byPort[port] = socket
    } else if let socket = byPort[port], socket.isOpen {
      used(socket.descriptor, by: transfer)
    }
  }

  /// An exchange has ended. Its connection is idle unless another exchange uses it too.
  func released(by transfer: CurlTransfer) {
    if let socket = transfer.use.take() { socket.users -= 1 }
  }

  /// Forgets sockets that libcurl has closed without notice, as it does (7.88) with sockets that never connected.
  func sweep(_ descriptors: [Int32]) {
    for descriptor in descriptors {
      if let socket = open[descriptor], Self.inode(descriptor) != socket.inode { forget(descriptor) }
    }
  }

  private static func inode(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// libcurl closes a socket.
  func close(_ descriptor: Int32) {
    let upload = uploads.removeValue(forKey: descriptor)
    ended.remove(descriptor)
    let socket = take(descriptor)
    loop.willClose(descriptor)
    // Unsent data of an aborted body would keep the socket open if the server does not read, although the permit is
    // passed on. So the connection is reset.
    if let upload, !upload.mustArrive, Self.hasUnsentBytes(descriptor) {
      var atOnce = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }
    systemClose(descriptor)
    // Last, because another thread may open the next socket at once.
    socket?.release()
    loop.forgetIfUnused(self)
  }

  /// Closes idle connections that the gate needs elsewhere, or that exceed a lowered limit.
  func reviewIdle() {
    guard let leases = loop.leases, leases.hasShortage else { return }
    for (descriptor, socket) in open where socket.users == 0 && leases.mustClose(socket.route) { endIdle(descriptor) }
  }

  /// Closes an idle connection to make room for another socket. Needed even if libcurl could have used an idle one:
  /// it may not fit (plain http to a port that now speaks TLS). Returns false if there is none.
  func endIdle(where isMeant: (SocketRoute) -> Bool) -> Bool {
    guard let idle = open.values.first(where: { $0.users == 0 && isMeant($0.route) }) else { return false }
    endIdle(idle.descriptor)
    return true
  }

  /// Forgets all sockets that libcurl has closed without notice. Returns whether there were any.
  func sweep() -> Bool {
    let count = open.count
    sweep(Array(open.keys))
    return open.count < count
  }

  /// libcurl has no call to close an idle connection. So the socket is shut down: the server sees its end, and
  /// libcurl closes it the next time it looks.
  private func endIdle(_ descriptor: Int32) {
    // If the socket was closed without notice, the descriptor may belong to another one now.
    if let socket = open[descriptor], Self.inode(descriptor) == socket.inode {
      shutdown(descriptor, Int32(SHUT_RDWR))
      ended.insert(descriptor)
    }
    forget(descriptor)
  }

  /// Closes a connection that received data while no exchange uses it, and discards the data. While there are bytes
  /// to read, libcurl (7.88) considers a connection usable even after a shutdown.
  func dropIdle(_ descriptor: Int32) {
    // Unix-domain sockets have no port, so it is not known which exchange uses them.
    guard open[descriptor]?.users == 0, !endPoint.isUnixSocket else { return }
    #if !canImport(Darwin)
    var byte = UInt8(0)
    guard recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else { return endIdle(descriptor) }
    // `connect` with AF_UNSPEC disconnects the socket and discards received data. It leaves an error behind, which is
    // cleared: libcurl would see it instead of the end.
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
    // SIOCOUTQNSD: bytes not sent yet. Bytes sent but not acknowledged are not counted.
    return ioctl(descriptor, UInt(0x894B), &count) == 0 && count > 0
    #endif
  }

  /// Forgets a socket that the server already sees as closed.
  private func forget(_ descriptor: Int32) { take(descriptor)?.release() }

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
