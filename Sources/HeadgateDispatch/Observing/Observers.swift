import HeadgateThreads

/// Those who hear of one request: one, most often, which stands here by itself, so that it needs no array.
struct Observers {
  private let first: any RequestObserver
  private let others: [any RequestObserver]

  /// In the order in which they are called; nil without a first one.
  init?(_ first: (any RequestObserver)?, _ others: [any RequestObserver] = []) {
    guard let first else { return nil }
    (self.first, self.others) = (first, others)
  }

  @inline(__always)
  private func each(_ tell: (any RequestObserver) -> Void) {
    tell(first)
    for other in others { tell(other) }
  }

  func waitingStarted(_ start: WaitingStart) { each { $0.waitingStarted(start) } }
  func waitingEnded(_ end: SpanEnd) { each { $0.waitingEnded(end) } }
  func restingStarted(_ start: RestingStart) { each { $0.restingStarted(start) } }
  func restingEnded(_ end: SpanEnd) { each { $0.restingEnded(end) } }
  func interceptingStarted(_ start: InterceptingStart) { each { $0.interceptingStarted(start) } }
  func interceptingEnded(_ end: SpanEnd) { each { $0.interceptingEnded(end) } }
  func exchangeStarted(_ start: ExchangeStart) { each { $0.exchangeStarted(start) } }
  func awaitingHeadStarted(at moment: Deadline) { each { $0.awaitingHeadStarted(at: moment) } }
  func awaitingHeadEnded(_ end: SpanEnd) { each { $0.awaitingHeadEnded(end) } }
  func receivingStarted(at moment: Deadline) { each { $0.receivingStarted(at: moment) } }
  func receivingEnded(_ end: SpanEnd) { each { $0.receivingEnded(end) } }
  func exchangeEnded(_ report: ExchangeReport) { each { $0.exchangeEnded(report) } }
  func requestEnded(_ report: RequestReport) { each { $0.requestEnded(report) } }
}
