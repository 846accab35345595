import CCurl
import HeadgateDispatch
import HeadgateThreads

extension CurlLoop {
  // MARK: Exchanges

  func begin(_ transfer: CurlTransfer) {
    if transfer.isOver { return }
    let endPoint = transfer.proxy?.endPoint ?? transfer.exchange.request.endPoint
    let place = place(of: endPoint)
    place.users += 1
    transfer.sockets = place
    running += 1
    _ = Unmanaged.passRetained(transfer)
    lookUp(transfer, at: place)
  }

  /// An exchange needs a socket now.
  func arrive(_ transfer: CurlTransfer) {
    let goesOn =
      transfer.sockets?.line.arrive(ObjectIdentifier(transfer), offers: transfer.offersHTTP2, on: transfer.route)
      ?? true
    if goesOn { launch(transfer) } else { hold(transfer) }
  }

  private func launch(_ transfer: CurlTransfer) {
    guard let place = transfer.sockets else { return }
    // Otherwise libcurl would be refused the socket, after most of its work.
    if place.mustOpen(for: transfer), !place.leaseAhead(for: transfer) { return waitForSocket(transfer, at: place) }
    if transfer.isHeld {
      transfer.isHeld = false
      held[ObjectIdentifier(transfer)] = nil
      transfer.reached(.name)
      transfer.events.socketWaitEnded()
      transfer.begun = .now
    }
    if place.prefersIPv4 { transfer.dialling = .ipv4 }
    transfer.choosesAddresses()
    handOver(transfer)
  }

  /// Passes an exchange to libcurl, for the first time or again.
  private func handOver(_ transfer: CurlTransfer) {
    guard let easy = spareHandles.popLast() ?? CurlEasy(configuration) else {
      return end(transfer, DispatchError(.transportFailed, detail: "no memory for a handle"))
    }
    transfer.easy = easy
    transfer.begins()
    transfer.multi = multis[use(of: transfer).rawValue]
    easy.prepare(transfer)
    add(transfer, easy)
  }

  // Searching this many exchanges costs almost nothing.
  private static let many = 64

  private func use(of transfer: CurlTransfer) -> CurlMulti.Use {
    if transfer.offersHTTP2 { return .shared }
    let isBesideMany = transfer.exchange.mayStay && transfer.sockets.map { $0.users > Self.many } ?? false
    return isBesideMany ? .besideMany : .own
  }

  private func add(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    isInsideCurl = true
    let result = curl_multi_add_handle(transfer.multi?.handle, easy.handle)
    isInsideCurl = false
    if result != CURLM_OK {
      end(transfer, DispatchError(.transportFailed, detail: String(cString: curl_multi_strerror(result))))
    }
  }

  /// Abandons the connection attempt and dials other addresses. The first socket is closed before the second is
  /// opened: two at once could exceed the end-point's limit.
  func dialAgain(_ transfer: CurlTransfer, _ dialling: CurlTransfer.Dialling) {
    guard !transfer.isOver, let easy = transfer.easy else { return }
    transfer.dialling = dialling
    transfer.choosesAddresses()
    restart(transfer, easy)
  }

  /// Takes an exchange back from libcurl, with its socket, and starts it again.
  private func restart(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    guard rewinds(transfer) else { return }
    takeBack(easy, from: transfer)
    transfer.sockets?.sweep(transfer.opened)
    handOver(transfer)
  }

  private func remove(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    isInsideCurl = true
    curl_multi_remove_handle(transfer.multi?.handle, easy.handle)
    isInsideCurl = false
  }

  /// Rewinds the request's body, if any. Ends the exchange if that is impossible.
  private func rewinds(_ transfer: CurlTransfer) -> Bool {
    if transfer.upload?.rewind(to: 0) ?? true { return true }
    end(transfer, CurlFailure.error(CURLE_SEND_FAIL_REWIND, of: transfer))
    return false
  }

  private func takeBack(_ easy: CurlEasy, from transfer: CurlTransfer) {
    remove(transfer, easy)
    transfer.easy = nil
    easy.forgetTransfer(mustReset: transfer.tries > 1 || transfer.hasPaused)
    // A handle that has used a cookie jar keeps its own copy of the cookies, and would send them to Unix-domain
    // sockets, which must not get any.
    if configuration.cookies == nil, spareHandles.count < 64 { spareHandles.append(easy) }
  }

  func abandon(_ transfer: CurlTransfer) {
    guard !transfer.isOver else { return }
    guard transfer.sockets != nil else {
      // Its start command is still in the inbox behind this one, and will be ignored.
      transfer.isOver = true
      return transfer.events.ended(ExchangeEnd(failure: DispatchError(.cancelled), wasSent: false))
    }
    end(transfer, DispatchError(.cancelled, phase: transfer.phase))
  }

  func goOn(_ transfer: CurlTransfer) {
    transfer.isPaused = false
    guard transfer.isHeldBack, !transfer.isOver, let easy = transfer.easy else { return }
    transfer.isHeldBack = false
    if CurlVersion.readsWhilePaused, let socket = transfer.use { holdBack(false, socket) }
    unpause(transfer, easy)
  }

  /// The body has more data to send, or is no longer needed.
  func goOnSending(_ transfer: CurlTransfer) {
    guard !transfer.isOver, let easy = transfer.easy, let upload = transfer.upload else { return }
    // The rest of the body is not sent, so the connection is closed.
    if upload.endsHere { return end(transfer, transfer.isCutShort()) }
    guard upload.isHeld else { return }
    upload.isHeld = false
    unpause(transfer, easy)
  }

  /// Tells libcurl which directions continue. Each direction is paused separately.
  private func unpause(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    let receiving = transfer.isHeldBack ? CURLPAUSE_RECV : CURLPAUSE_RECV_CONT
    let sending = transfer.upload?.isHeld == true ? CURLPAUSE_SEND : CURLPAUSE_SEND_CONT
    isInsideCurl = true
    let result = curl_easy_pause(easy.handle, receiving | sending)
    isInsideCurl = false
    // Data held back is delivered inside this call. If the consumer aborts, libcurl leaves it to us to end the
    // exchange.
    guard result != CURLE_OK || transfer.isAborted else { return }
    if let failure = CurlFailure.error(result, of: transfer) { end(transfer, failure) }
  }

  /// Takes the exchanges that libcurl has finished. Returns whether there were any: their successors may have work at
  /// once.
  func finishTransfers() -> Bool {
    // `||` must not skip the remaining handles.
    multis.reduce(false) { found, multi in finishTransfers(of: multi) || found }
  }

  private func finishTransfers(of multi: CurlMulti) -> Bool {
    var found = false
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi.handle, &left) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      found = true
      let result = ccurl_result(message)
      var pointer: UnsafeMutableRawPointer?
      ccurl_get_private(message.pointee.easy_handle, &pointer)
      guard let transfer = pointer.flatMap(CurlCallbacks.transfer) else { continue }
      if result == CURLE_COULDNT_RESOLVE_HOST, transfer.dialling == .ipv4, !transfer.isSent {
        dialAgain(transfer, .anyAtLast)
      } else if result != CURLE_OK, transfer.wasRefused && !transfer.headIsDone || mustGoRound(transfer, result) {
        putBack(transfer)
      } else if transfer.metBytes, let easy = transfer.easy {
        restart(transfer, easy)
      } else {
        finish(transfer, result)
      }
    }
    return found
  }

  /// libcurl has finished an exchange, with or without an error.
  private func finish(_ transfer: CurlTransfer, _ result: CURLcode) {
    guard let upload = transfer.upload, let easy = transfer.easy, upload.isQuestionRefused else {
      transfer.noteEnd(result)
      return end(transfer, CurlFailure.error(result, of: transfer))
    }
    if upload.asksNoMore() {
      transfer.begun = .now
      return restart(transfer, easy)
    }
    transfer.tellRefusal()
    transfer.noteEnd(result)
    end(transfer, transfer.isAborted ? CurlFailure.error(result, of: transfer) : nil)
  }

  func end(_ transfer: CurlTransfer, _ failure: DispatchError?) {
    transfer.isOver = true
    leaveNaming(transfer)
    var times = ExchangeTimes()
    var trailers: [UInt8] = []
    let wasBegun = transfer.sockets != nil
    if failure != nil { transfer.upload?.isGivenUp = true }
    if let easy = transfer.easy {
      times = easy.times(isReused: transfer.opened.isEmpty && transfer.isOnItsWay, named: transfer.nameTime)
      if failure == nil { trailers = easy.head.trailers }
      // For an unfinished exchange this closes the connection, before the permit is returned.
      takeBack(easy, from: transfer)
    }
    transfer.fallback.take()?.cancel()
    if let place = transfer.sockets {
      place.users -= 1
      if let upload = transfer.upload { place.uploads = place.uploads.filter { $0.value !== upload } }
      if transfer.dialling == .ipv4 { place.prefersIPv4 = failure == nil }
      if transfer.hasLease { place.returnLease(of: transfer) }
      place.released(by: transfer)
      place.line.ended(ObjectIdentifier(transfer), hasFailed: failure != nil && failure?.code != .cancelled)
      if failure != nil || transfer.opened.count > 1 { place.sweep(transfer.opened) }
      place.reviewIdle()
      lineChanged(place)
      forgetIfUnused(place)
      transfer.sockets = nil
    }
    let wasHeld = transfer.isHeld
    if wasHeld { held[ObjectIdentifier(transfer)] = nil }
    if wasBegun { running -= 1 }
    if !lacking.isEmpty { descriptorsChanged() }
    transfer.received(trailers: trailers)
    transfer.events.ended(
      ExchangeEnd(
        failure: failure, times: times, connectionWasStale: transfer.connectionWasStale && failure != nil,
        wasSent: transfer.hasDialled || !wasHeld))
    // Balances the retain in `begin`, once: `sockets` is nil from here on.
    if wasBegun { Unmanaged.passUnretained(transfer).release() }
  }

  // MARK: Waiting for sockets

  private func hold(_ transfer: CurlTransfer) {
    transfer.isHeld = true
    transfer.hasWaited = true
    held[ObjectIdentifier(transfer)] = transfer
    transfer.reached(.held)
    transfer.events.socketWaitStarted()
  }

  /// Whether libcurl has given up on an exchange that servers did not accept. An HTTP/2 server that closes a
  /// connection (GOAWAY) says which streams it has processed, and the others are started again on another connection.
  /// libcurl does so five times, which many concurrent streams and a server with short connections can exhaust.
  private func mustGoRound(_ transfer: CurlTransfer, _ result: CURLcode) -> Bool {
    guard transfer.offersHTTP2, !transfer.headIsDone, transfer.rounds < 10, result == CURLE_SEND_ERROR,
      transfer.tries > 5
    else { return false }
    transfer.rounds += 1
    return true
  }

  /// libcurl was refused a socket for an exchange. It goes on with one that an idle connection leaves, or waits in the
  /// line.
  private func putBack(_ transfer: CurlTransfer) {
    guard let easy = transfer.easy, let place = transfer.sockets else { return }
    guard rewinds(transfer) else { return }
    takeBack(easy, from: transfer)
    transfer.fallback.take()?.cancel()
    place.released(by: transfer)
    place.sweep(transfer.opened)
    // Before a lease is taken, an idle connection must leave its descriptor.
    if transfer.lacksFile, !closeIdle(for: .total, transfer.route) { return waitForDescriptor(transfer, at: place) }
    let mayDial = place.line.mayDial(ObjectIdentifier(transfer), offers: transfer.offersHTTP2)
    if mayDial, place.leaseAhead(for: transfer) { handOver(transfer) } else { waitForSocket(transfer, at: place) }
  }

  /// Waits for another exchange to end, if one is under way.
  private func waitForDescriptor(_ transfer: CurlTransfer, at place: EndPointSockets) {
    guard running > held.count + 1 else {
      let advice = "too few descriptors are left: allow more open files (ulimit -n), or set a lower total"
      return end(transfer, DispatchError(.transportFailed, phase: .connecting, detail: advice))
    }
    waitForSocket(transfer, at: place)
    lacking.append(place)
  }

  /// A descriptor was closed, or may have been: exchanges that had none try again.
  func descriptorsChanged() {
    for place in lacking {
      place.line.socketsChanged()
      lineChanged(place)
    }
    lacking.removeAll()
  }

  private func waitForSocket(_ transfer: CurlTransfer, at place: EndPointSockets) {
    if transfer.hasLease { place.returnLease(of: transfer) }
    place.line.refused(
      ObjectIdentifier(transfer), offers: transfer.offersHTTP2, on: transfer.route, hasWaited: transfer.hasWaited)
    if !transfer.isHeld { hold(transfer) }
    lineChanged(place)
  }

  /// An exchange's connection is established.
  func isConnected(_ transfer: CurlTransfer, localPort: Int) {
    guard let place = transfer.sockets else { return }
    // libcurl has found a connection to use again.
    if transfer.hasLease { place.returnLease(of: transfer) }
    place.connected(localPort: localPort, by: transfer)
    place.line.connected(ObjectIdentifier(transfer))
    lineChanged(place)
  }

  /// A response shows which HTTP version the server speaks with exchanges that offer HTTP/2.
  func learned(isHTTP2: Bool, from transfer: CurlTransfer) {
    transfer.sockets?.line.learned(http2: isHTTP2)
    transfer.events.connectionMultiplexes(isHTTP2)
  }

  /// Notes that an end-point's line must be checked.
  func lineChanged(_ place: EndPointSockets) {
    guard !place.line.isEmpty || place.waitsForSocket, !place.hasChanged else { return }
    place.hasChanged = true
    changed.append(place)
  }

  /// Starts the exchanges that may leave the lines. Returns whether there were any.
  func launchWaiting() -> Bool {
    var found = false
    while let place = changed.popLast() {
      place.hasChanged = false
      while let member = place.next() {
        guard let transfer = held[member] else { continue }
        found = true
        launch(transfer)
      }
      place.stopWaitingInVain()
      forgetIfUnused(place)
    }
    return found
  }
}
