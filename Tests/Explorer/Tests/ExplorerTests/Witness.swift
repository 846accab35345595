import HTTPTypes
import HeadgateThreads

@testable import HeadgateDispatch

/// A consumer that checks its calls: one at a time, and none after the end. Passes them on to one of the library's own.
final class Witness: ResponseSink {
  private struct Notes {
    var isInside = false
    var pieces = 0
    var ends: [DispatchError.Code?] = []
    var fault: String?
  }

  private let sink: any ResponseSink
  private let pauses: Bool
  private let notes = Unseen(Notes())
  private let results: Unseen<[String]>

  /// - Parameter pauses: Whether it has no room for more after each piece of a body.
  init(pauses: Bool) {
    self.pauses = pauses
    let results = Unseen<[String]>([])
    self.results = results
    sink = CollectingSink(cap: 1 << 20) { result in results.use { $0.append("\(result)") } }
  }

  var mayPause: Bool { pauses }
  var hasEnded: Bool { notes.use { !$0.ends.isEmpty } }
  var pieces: Int { notes.use { $0.pieces } }

  /// How it ended: with a complete response, or with a failure.
  var end: DispatchError.Code? { notes.use { $0.ends.first ?? .transportFailed } }

  /// The violations of its calls, once the script is over.
  var fault: String? {
    notes.use { notes in
      if notes.ends.isEmpty { return "the consumer hears of no end" }
      if results.use({ $0.count }) != 1 { return "its completion was called \(results.use { $0.count }) times" }
      return notes.ends.count == 1 ? notes.fault : "the consumer hears of \(notes.ends.count) ends"
    }
  }

  private func call<Result>(
    _ name: String, _ body: () throws(DispatchError) -> Result
  ) throws(DispatchError) -> Result {
    notes.use { notes in
      if notes.isInside { notes.fault = "\(name) is called while another call is inside" }
      if !notes.ends.isEmpty { notes.fault = "\(name) is called after the end" }
      notes.isInside = true
    }
    Here.step()
    defer { notes.use { $0.isInside = false } }
    return try body()
  }

  func mayStartAnew() -> Bool { true }

  func startAnew(
    _ request: DispatchRequest, declining isDeclined: Bool, of operation: DispatchOperation
  ) -> DispatchRequest {
    let next = try? call("startAnew") { () throws(DispatchError) in
      sink.startAnew(request, declining: isDeclined, of: operation)
    }
    return next ?? request
  }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    try call("received(head)") { () throws(DispatchError) in try sink.received(head, url: url, of: operation) }
  }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    try call("received(bytes)") { () throws(DispatchError) in
      notes.use { $0.pieces += 1 }
      let flow = try sink.received(bytes, of: operation)
      return pauses ? .pause : flow
    }
  }

  func received(trailers: HTTPFields) {
    try? call("received(trailers)") { () throws(DispatchError) in sink.received(trailers: trailers) }
  }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    try? call("end") { () throws(DispatchError) in
      notes.use { $0.ends.append(outcome.error?.code) }
      sink.end(outcome, of: operation)
    }
  }
}
