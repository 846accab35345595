import HTTPTypes
import HeadgateThreads

extension DispatchOperation {
  /// Hands an exchange to the transport: with its body, if it has one.
  func carry(_ exchange: Exchange) -> any ExchangeControl {
    guard let meter, let body = exchange.request.body, exchange.request.method != .head else {
      return core.transport.start(exchange, events: self)
    }
    let report = UploadReport(meter: meter) { [self] progress in uploaded(progress) }
    let upload = UploadExchange(exchange, report, self)
    upload.start(body, over: core.transport)
    return upload
  }

  private func uploaded(_ progress: UploadProgress) {
    guard !state.withLock({ $0.isDecided }) else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      sink.sent(progress)
      request.onUploadProgress?(progress)
    }
  }
}
