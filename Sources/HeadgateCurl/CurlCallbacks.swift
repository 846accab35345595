import CCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// libcurl's callbacks, called on the loop's thread. Each finds its exchange through the handle's private pointer.
enum CurlCallbacks {
  // Unretained: the loop keeps handle and exchange as long as libcurl may use them (see CurlEasy.prepare).
  static func transfer(_ pointer: UnsafeMutableRawPointer) -> CurlTransfer? {
    Unmanaged<CurlEasy>.fromOpaque(pointer).takeUnretainedValue().transfer.flatMap(called)
  }

  /// The exchange that libcurl calls.
  static func called(_ transfer: Unmanaged<CurlTransfer>) -> CurlTransfer? {
    let transfer = transfer.takeUnretainedValue()
    // So that nothing here, and nothing of the program's, runs under a cookie jar's lock.
    if CurlVersion.readsCookiesUnlocked { transfer.releaseCookies() }
    return transfer
  }

  static let openSocket: curl_opensocket_callback = { pointer, _, address in
    guard let pointer, let address, let transfer = transfer(pointer) else { return -1 }
    // After an address was refused, the others are not tried.
    guard transfer.fault == nil, transfer.maySend, transfer.mayReach(numericHost(address)) else { return -1 }
    transfer.reached(.connecting)
    guard transfer.sockets?.mayOpen(for: transfer) ?? true else {
      transfer.wasRefused = true
      return -1
    }
    if address.pointee.family == AF_INET6 { transfer.dialsIPv6() }
    #if canImport(Darwin)
    let descriptor = socket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    #else
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    #endif
    guard descriptor >= 0, OpenFiles.leavesEnough(descriptor) else {
      if descriptor >= 0 { close(descriptor) }
      transfer.lacksDescriptor()
      return -1
    }
    transfer.opened.append(descriptor)
    transfer.sockets?.opened(descriptor, for: transfer)
    return descriptor
  }

  static let closeSocket: curl_closesocket_callback = { pointer, descriptor in
    guard let pointer else { return 0 }
    let sockets = Unmanaged<EndPointSockets>.fromOpaque(pointer).takeUnretainedValue()
    sockets.close(descriptor)
    return 0
  }

  static let prerequest: curl_prereq_callback = { pointer, address, _, _, localPort in
    guard let pointer else { return CURL_PREREQFUNC_ABORT }
    let maySend = transfer(pointer)?.isConnected(to: address, localPort: Int(localPort))
    return maySend == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }

  static let tls: curl_ssl_ctx_callback = { _, context, pointer in
    guard let pointer, let transfer = transfer(pointer) else { return CURLE_OK }
    transfer.reached(.securing)
    transfer.use?.tls = context.flatMap(TLSRecord.of)
    return CURLE_OK
  }

  static let watchSocket: curl_socket_callback = { easy, descriptor, what, multiPointer, _ in
    guard let multiPointer else { return 0 }
    let multi = Unmanaged<CurlMulti>.fromOpaque(multiPointer).takeUnretainedValue()
    var easyPointer: UnsafeMutableRawPointer?
    if let easy { ccurl_get_private(easy, &easyPointer) }
    multi.loop.watch(descriptor, what, easyPointer.flatMap(transfer), multi)
    return 0
  }

  static let setTimer: curl_multi_timer_callback = { _, milliseconds, pointer in
    guard let pointer else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(pointer).takeUnretainedValue().setTimer(milliseconds)
    return 0
  }
}

/// An address in numeric form; nil if it is not an IP address.
private func numericHost(_ address: UnsafePointer<curl_sockaddr>) -> String? {
  var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
  // libcurl stores `addrlen` bytes of the address in the field `addr`, whatever its family.
  let isKnown = withUnsafePointer(to: &UnsafeMutablePointer(mutating: address).pointee.addr) { pointer in
    getnameinfo(
      pointer, socklen_t(address.pointee.addrlen), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
  }
  return isKnown ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}
