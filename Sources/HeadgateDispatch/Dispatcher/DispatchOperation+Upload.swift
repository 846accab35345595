import HTTPTypes
import HeadgateThreads

extension DispatchOperation {
  /// Hands an exchange to the transport: with its body, if it has one.
  func carry(_ launch: OperationState.Launch) -> any ExchangeControl {
    let request = launch.later ?? self.request
    guard let body = request.body, let meter, request.method != .head else {
      return core.transport.start(
        Exchange(request: request, maxSockets: launch.maxSockets, mayPause: sink.mayPause), events: self)
    }
    let report = UploadReport(meter: meter) { [self] progress in uploaded(progress) }
    let upload = UploadExchange(
      request, maxSockets: launch.maxSockets, mayPause: sink.mayPause, report, self)
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
