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
  var line = SocketLine<ObjectIdentifier, SocketRoute>()
  /// The loop will check the line.
  var hasChanged = false

  private(set) var open: [Int32: CurlSocket] = [:]
  // The number of those that are idle.
  private var idle = 0
  // The routes waiting for a socket from the gate, and those for which one is reserved.
  private var waiting: Set<SocketRoute> = []
  private var reserved: Set<SocketRoute> = []
  // Sockets with established connections, by local port.
  private var byPort: [Int: CurlSocket] = [:]
  // Unowned: the loop owns this object and exists whenever libcurl runs.
  private unowned let loop: CurlLoop

  init(_ endPoint: EndPoint, _ loop: CurlLoop) {
    self.endPoint = endPoint
    self.loop = loop
  }

  /// Whether nothing refers to the object any more.
  var isUnused: Bool { users == 0 && open.isEmpty && waiting.isEmpty }

  /// Whether there may be a connection that the next exchange can use.
  func mayReuse(offersHTTP2: Bool) -> Bool {
    offersHTTP2 && line.speech == .http2 ? !open.isEmpty : idle > 0
  }

  // MARK: Leases

  /// Whether an exchange probably opens a socket, and may do so now.
  func mustOpen(for transfer: CurlTransfer) -> Bool {
    let mayReuse = !transfer.needsNewConnection && mayReuse(offersHTTP2: transfer.offersHTTP2)
    return !mayReuse && line.mayDial(ObjectIdentifier(transfer), offers: transfer.offersHTTP2)
  }

  /// Leases a socket for an exchange before libcurl gets it. Closes idle connections to make room, which is not possible
  /// inside libcurl. Returns false if the exchange must wait.
  func leaseAhead(for transfer: CurlTransfer) -> Bool {
    guard loop.leases != nil, !transfer.hasLease else { return true }
    var answer = lease(transfer.route, waits: false)
    // The loop's own idle connections are closed first, without asking other holders. Even one that the exchange could
    // use: it may not fit (plain http to a port that now speaks TLS).
    while case .full(let bound) = answer, loop.closeIdle(for: bound, transfer.route) {
      answer = lease(transfer.route, waits: false)
    }
    if answer != .leased { answer = lease(transfer.route, waits: true) }
    transfer.hasLease = answer == .leased
    return transfer.hasLease
  }

  /// Whether libcurl may open a socket for an exchange. If so, one has been leased.
  func mayOpen(for transfer: CurlTransfer) -> Bool {
    let member = ObjectIdentifier(transfer)
    let isFree = line.mayDial(member, offers: transfer.offersHTTP2)
    return line.mayOpen(member, offers: transfer.offersHTTP2, hasRoom: isFree && takeLease(of: transfer))
  }

  private func takeLease(of transfer: CurlTransfer) -> Bool {
    if transfer.hasLease {
      transfer.hasLease = false
      return true
    }
    guard loop.leases != nil else { return true }
    // libcurl may have closed the last address's socket without notice.
    return lease(transfer.route, waits: false) == .leased
      || sweep() && lease(transfer.route, waits: false) == .leased
  }

  private func lease(_ route: SocketRoute, waits: Bool) -> SocketLedger.Answer {
    guard let answer = loop.leases?.tryLease(route, waits: waits) else { return .leased }
    // Even if the limits were lowered since, so that there is no reservation any more.
    reserved.remove(route)
    if answer == .leased {
      waiting.remove(route)
    } else if waits {
      waiting.insert(route)
    }
    return answer
  }

  /// The socket leased for an exchange could not be created, or is not needed.
  func returnLease(of transfer: CurlTransfer) {
    transfer.hasLease = false
    loop.leases?.release(transfer.route)
  }

  // MARK: The line

  /// Whether it waits for a socket from the gate.
  var waitsForSocket: Bool { !waiting.isEmpty }

  /// The gate has reserved a socket. The exchange that needs it may not be back in the line yet.
  func reserve(_ route: SocketRoute) {
    guard waiting.contains(route) else { return loop.leases?.stopWaiting(route) ?? () }
    reserved.insert(route)
    line.socketsChanged()
  }

  /// Removes the next exchange to start. Exchanges with a reserved socket go first.
  func next() -> ObjectIdentifier? {
    for route in reserved where line.promote(route) { break }
    return line.next()
  }

  /// Stops waiting at the gate for sockets that no exchange needs any more.
  func stopWaitingInVain() {
    guard !waiting.isEmpty, !line.isTrying else { return }
    for route in waiting where !line.contains(route) {
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
    let socket = CurlSocket(descriptor, of: self, for: transfer, loop.leases)
    open[descriptor] = socket
    idle += 1
    loop.didOpen(socket)
    used(socket, by: transfer)
  }

  /// Records that an exchange uses this socket and no other. Returns nil if it is not one of the end-point's.
  func used(_ descriptor: Int32, by transfer: CurlTransfer) -> CurlSocket? {
    if let use = transfer.use, use.isOpen, use.descriptor == descriptor { return use }
    guard let socket = open[descriptor] else { return nil }
    used(socket, by: transfer)
    return socket
  }

  private func used(_ socket: CurlSocket, by transfer: CurlTransfer) {
    released(by: transfer)
    if socket.users == 0 {
      idle -= 1
      loop.idle.remove(socket)
    }
    socket.users += 1
    socket.user = transfer
    transfer.use = socket
  }

  /// An exchange has its connection. For a reused connection libcurl reports only the local port before it watches
  /// the socket. Without this, the first bytes of the response could be mistaken for unexpected ones.
  func connected(localPort port: Int, by transfer: CurlTransfer) {
    // Unix-domain sockets have no ports.
    guard port > 0 else { return }
    if let socket = transfer.use, socket.isOpen, socket.localPort == 0 {
      socket.localPort = port
      byPort[port] = socket
    } else if let socket = byPort[port], socket.isOpen, socket !== transfer.use {
      used(socket, by: transfer)
    }
  }

  /// An exchange has ended. Its connection is idle unless another exchange uses it too.
  func released(by transfer: CurlTransfer) {
    guard let socket = transfer.use.take() else { return }
    socket.users -= 1
    if socket.user === transfer { socket.user = nil }
    guard socket.users == 0, socket.isOpen else { return }
    loop.idle.append(socket)
    idle += 1
  }

  /// Forgets all sockets that libcurl has closed without notice. Returns whether there were any.
  func sweep() -> Bool { sweep(Array(open.keys)) }

  /// Forgets those of some sockets that libcurl has closed without notice. Returns whether there were any.
  @discardableResult
  func sweep(_ descriptors: [Int32]) -> Bool {
    var found = false
    for descriptor in descriptors where open[descriptor]?.isGone == true {
      forget(descriptor)
      found = true
    }
    if found { loop.forgetIfUnused(self) }
    return found
  }

  /// libcurl closes a socket.
  func close(_ descriptor: Int32) {
    let upload = uploads.removeValue(forKey: descriptor)
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
    guard let leases = loop.leases, leases.hasShortage, idle > 0 else { return }
    // Looked for anew each time: libcurl chooses which of several connections it closes.
    while let socket = open.values.first(where: { $0.users == 0 && leases.mustClose($0.route) }) {
      // One that is closed later is enough for now.
      guard loop.closeIdle(socket) else { return }
    }
  }

  /// A connection received data while no exchange uses it. Discards the data, and ends the connection, which libcurl
  /// closes when it next looks for one. While there are bytes to read, libcurl (7.88) considers a connection usable even
  /// after a shutdown.
  func dropIdle(_ socket: CurlSocket) {
    // Unix-domain sockets have no port, so it is not known which exchange uses them.
    guard socket.users == 0, !endPoint.isUnixSocket, !socket.isGone else { return }
    let descriptor = socket.descriptor
    #if !canImport(Darwin)
    var byte = UInt8(0)
    if recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 {
      // `connect` with AF_UNSPEC disconnects the socket and discards received data. It leaves an error behind, which is
      // cleared: libcurl would see it instead of the end.
      var nowhere = sockaddr()
      nowhere.sa_family = sa_family_t(AF_UNSPEC)
      connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
      var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
    }
    #endif
    shutdown(descriptor, Int32(SHUT_RDWR))
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

  private func forget(_ descriptor: Int32) {
    guard let socket = take(descriptor) else { return }
    loop.didForget(socket)
    socket.release()
  }

  private func take(_ descriptor: Int32) -> CurlSocket? {
    guard let socket = open.removeValue(forKey: descriptor) else { return nil }
    if socket.users == 0 {
      idle -= 1
      loop.idle.remove(socket)
    }
    socket.closes()
    if byPort[socket.localPort] === socket { byPort[socket.localPort] = nil }
    line.socketsChanged()
    loop.lineChanged(self)
    return socket
  }
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
