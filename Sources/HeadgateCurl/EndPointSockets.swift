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
  /// The most that may be open.
  var limit = Int.max
  /// Its IPv6 address did not answer while an IPv4 one did: the next connections don't try.
  var prefersIPv4 = false
  /// Bodies on their way, by the connection that they are sent over.
  var uploads: [Int32: CurlUpload] = [:]
  /// Exchanges that know this object: libcurl holds a bare pointer to it.
  var users = 0
  /// Who waits for a socket.
  var line = SocketLine<ObjectIdentifier>()
  /// The loop was told to look at the line.
  var isStirred = false

  /// A socket, as its exchanges hold it. An object: its users change with each exchange, and a dictionary's values are changed
  /// at the price of allocations.
  final class Socket {
    fileprivate let descriptor: Int32
    // Tells the socket from a later one of the same number.
    fileprivate let inode: UInt64
    // The end-point behind a proxy that it leads to.
    fileprivate let origin: EndPoint?
    // How many exchanges use it. A connection may go from one to the next before the first one's end is told.
    fileprivate var users = 0
    // 0 until the connection stands.
    fileprivate var localPort = 0
    fileprivate var isOpen = true

    /// Whether there are bytes to be read, or an end.
    var hasArrived: Bool { HeadgateCurl.hasArrived(at: descriptor) }

    fileprivate init(_ descriptor: Int32, inode: UInt64, origin: EndPoint?) {
      (self.descriptor, self.inode, self.origin) = (descriptor, inode, origin)
    }
  }

  private var open: [Int32: Socket] = [:]
  // Those whose connections stand, by their local ports.
  private var byPort: [Int: Socket] = [:]
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

  /// Whether libcurl may open a socket for an exchange. Ends idle ones for it.
  func mayOpen(for transfer: CurlTransfer) -> Bool {
    // First, since the number of one that was closed without a word may be another's by now.
    if open.count >= limit { sweep(Array(open.keys)) }
    trim(roomFor: 1)
    var hasRoom = open.count < limit
    if let (origin, most) = transfer.tunnel {
      trim(roomFor: 1, of: origin, atMost: most)
      hasRoom = hasRoom && count(of: origin) < most
    }
    return line.mayOpen(ObjectIdentifier(transfer), offers: transfer.offersHTTP2, hasRoom: hasRoom)
  }

  private func count(of origin: EndPoint) -> Int { open.values.count { $0.origin == origin } }

  /// libcurl has opened a socket for an exchange.
  func opened(_ descriptor: Int32, for transfer: CurlTransfer) {
    open.updateValue(
      Socket(descriptor, inode: Self.inode(descriptor), origin: transfer.tunnel?.origin), forKey: descriptor)?.isOpen =
      false
    loop.didOpen(descriptor, of: self)
    loop.socketCounts.set(open.count, of: endPoint)
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
  /// watched: without this the first bytes of the answer could look as if nobody had asked for them.
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

  /// An exchange has ended: what it used, and nobody else uses, is idle.
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
    forget(descriptor)
    loop.willClose(descriptor)
    // What is left of a body that was given up would keep the socket open at a server that does not read, while the permit
    // goes on.
    if let upload, !upload.mustArrive, Self.hasUnsentBytes(descriptor) {
      var atOnce = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }
    systemClose(descriptor)
    loop.forgetIfUnused(self)
  }

  /// Ends idle connections beyond the limit. libcurl offers no call for that: the connection is shut down beneath it,
  /// so that the server sees its end, and libcurl closes the socket when it next looks.
  ///
  /// Also called when libcurl wants another socket although one is idle, because that one does not fit (plain http to a
  /// port that speaks TLS now): then there has to be room for one more.
  func trim(roomFor more: Int = 0) { trim(open.count + more - limit) { _ in true } }

  private func trim(roomFor more: Int, of origin: EndPoint, atMost most: Int) {
    trim(count(of: origin) + more - most) { $0.origin == origin }
  }

  private func trim(_ excess: Int, where isMeant: (Socket) -> Bool) {
    guard excess > 0 else { return }
    let idle = open.filter { $0.value.users == 0 && isMeant($0.value) }.keys.sorted()
    for descriptor in idle.prefix(excess) { endIdle(descriptor) }
  }

  private func endIdle(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_RDWR))
    ended.insert(descriptor)
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

  private func forget(_ descriptor: Int32) {
    guard let socket = open.removeValue(forKey: descriptor) else { return }
    socket.isOpen = false
    if byPort[socket.localPort] === socket { byPort[socket.localPort] = nil }
    line.socketsChanged()
    loop.stir(self)
    loop.socketCounts.set(open.count, of: endPoint)
  }
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
