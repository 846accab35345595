import HeadgateDispatch
import HeadgateThreads

// Names are looked up before an exchange is passed to libcurl, which gets the addresses with CURLOPT_RESOLVE: all of
// them, so that it tries one after another as usual.
//
// Rejected: a custom resolver inside libcurl, which has no interface for one; CURLOPT_CONNECT_TO, which names one
// address only; and a separate state in the dispatcher for requests that wait for a name. An exchange that waits here
// costs its end-point nothing, because the others of that end-point wait for the same name. It does count toward the
// total. The command, which fetches from thousands of hosts, looks names up before it submits a request.

extension CurlLoop {
  /// Finds the addresses of an exchange's host, and passes the exchange on when they are known.
  func lookUp(_ transfer: CurlTransfer, at place: EndPointSockets) {
    guard transfer.proxy == nil, let name = place.endPoint.nameToLookUp else { return arrive(transfer) }
    // A connection that can be used again needs no address. If it turns out to be closed, libcurl looks the name up.
    if naming[name] == nil {
      if let answer = names.answer(for: name) { return found(answer, for: transfer) }
      if !transfer.needsNewConnection, place.mayReuse(offersHTTP2: transfer.offersHTTP2) { return arrive(transfer) }
      if let answer = names.ask(name, for: self) { return found(answer, for: transfer) }
    }
    transfer.awaitedName = name
    naming[name, default: []].append(transfer)
    guard let limit = transfer.exchange.request.connectTimeout else { return }
    transfer.nameTimer = TimerThread.deadlines.schedule(at: transfer.begun + limit) { [weak transfer] in
      transfer?.nameTimedOut()
    }
  }

  /// A look-up has ended.
  func answered(_ name: String, _ answer: NameAnswer) {
    for transfer in naming.removeValue(forKey: name) ?? [] {
      stopsNaming(transfer)
      transfer.nameTime = .now - transfer.begun
      found(answer, for: transfer)
    }
  }

  /// The connect timeout passed before the name was known.
  func namingTimedOut(_ transfer: CurlTransfer) {
    guard !transfer.isOver, let name = transfer.awaitedName else { return }
    end(transfer, DispatchError(.connectTimedOut, phase: .name, detail: "the resolver has not answered for \(name)"))
  }

  /// An exchange ends before its name is known. The look-up continues for others.
  func leaveNaming(_ transfer: CurlTransfer) {
    guard let name = transfer.awaitedName else { return }
    naming[name]?.removeAll { $0 === transfer }
    stopsNaming(transfer)
  }

  private func stopsNaming(_ transfer: CurlTransfer) {
    transfer.awaitedName = nil
    transfer.nameTimer.take()?.cancel()
  }

  private func found(_ answer: NameAnswer, for transfer: CurlTransfer) {
    switch answer {
    case .addresses(let addresses):
      transfer.addresses = addresses
      arrive(transfer)
    case .failed(let failure):
      end(transfer, DispatchError(.nameNotResolved, phase: .name, detail: failure.detail))
    }
  }
}
