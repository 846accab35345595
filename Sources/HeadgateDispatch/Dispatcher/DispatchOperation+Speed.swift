import HeadgateThreads

// The least speed, looked at once for each span: nothing is done for a piece of the body but to count it.

extension DispatchOperation {
  /// An exchange begins: its first span does.
  func beginSpan(_ meter: DownloadMeter, at now: Deadline) {
    if meter.begins() { armSpan(meter, from: now) }
  }

  private func armSpan(_ meter: DownloadMeter, from now: Deadline) {
    guard let speed = meter.speed else { return }
    let key = core.schedule(at: now.advanced(byNanoseconds: speed.spanNanoseconds)) { [self] in lookAtSpeed(meter) }
    if let superfluous = meter.keep(key) { drop(superfluous) }
  }

  private func lookAtSpeed(_ download: DownloadMeter) {
    let now = core.now
    let upload = state.withLock { $0.control } as? UploadExchange
    let isHeldByProducer = upload?.isHeldByProducer ?? false
    let (isListening, resumes) = state.withLock { ($0.isListening, $0.resumes) }
    var mark = DownloadMeter.Mark(resumes: resumes)
    if let flow = meter?.flow { (mark.sent, mark.waits) = flow }
    if download.isTooSlow(mark, isHeld: !isListening || isHeldByProducer) { return fail(DispatchError(.tooSlow)) }
    armSpan(download, from: now)
  }
}
