import HTTPTypes
import HeadgateThreads

/// Writes a body to a file on threads of its own. A slow disk pauses only its own transfers, at their sockets.
///
/// Bytes are collected into blocks, and a few blocks may be waiting for the disk. A small body is a single block,
/// whose file is created, written, closed and renamed in one step.
//
// An exchange whose body breaks off is followed by one that asks for the rest, if the server names its version: see
// ``PartialBody``. Then the bytes that have arrived stay, whether they are in the file yet or not.
//
// Unchecked: what the transport's side has is used only in the sink's methods, which the operation calls one at a time,
// each after taking its lock; `declines`, `lacksRest` and `mayStartAnew` are called between two of them, by the thread of
// the last one, and read only what `end`, which another thread may call then, does not change. What the lane's side has is
// used only in jobs of `lane`, which runs one at a time.
final class FileSink: ResponseSink, @unchecked Sendable {
  static let crew = LaneCrew(name: "headgate-files", size: 4)

  private static let blockSize = 256 * 1024
  private static let mostSkipped = 64 * 1024

  private struct Pressure {
    var backlog = Backlog(high: 4 * Backlog.size(ofPiece: blockSize), low: 2 * Backlog.size(ofPiece: blockSize))
    // Set to nil at the end, which releases what the closure captures, possibly the operation's own handle.
    var completion: FileCompletion?
    // The next progress to report. At most one job for the listener is scheduled.
    var progress: TransferProgress?
  }

  /// How a body begins.
  private enum Beginning {
    case whole(Validator)
    case rest(after: PartialBody)
  }

  private let store: any BodyStore
  private let checksum: Checksum?
  private let keepsServerTime: Bool
  private let most: Int?
  /// Whether a range that the caller requests is stored as it is.
  private let asksForRange: Bool
  private let mayContinue: Bool
  private let isPrompt: Bool
  private let keepsRefusal: Bool
  /// Whether bodies may arrive decoded. A range is one of the encoded body.
  private let mayBeDecoded: Bool
  private let onProgress: TransferProgress.Listener?
  private let lane = SerialLane(on: FileSink.crew)
  private let pressure: Locked<Pressure>

  // MARK: The transport's side

  private var head = ResponseHead(statusCode: 0)
  private var url = ""
  /// The part whose rest the current request asks for.
  private var asked: PartialBody?
  /// How much of the body an earlier run has stored.
  private var earlier: Int
  /// Where the body began that is being received. Nil if the response's body is not stored.
  private var began: Int?
  /// The version and the size so far of that body, and its whole size if this response is the rest of it.
  private var (validator, size, whole) = (Validator(), 0, Int?.none)
  /// Whether another request can ask for the rest of that body.
  private var isResumable = false
  /// How many bytes of the response were not stored.
  private var skipped = 0
  /// Those bytes, if they are kept.
  private var refusal: [UInt8] = []
  /// What the lane has not been told yet.
  private var beginning: Beginning?
  private var block: [UInt8] = []
  private var total = 0
  private var count = ProgressCount(longestStep: 1 << 20)
  private var trailers: HTTPFields = [:]

  // MARK: The lane's side

  // Of the stored bytes. Nil if no checksum is expected, or if an earlier run has stored some of them.
  private var hash: SHA256?
  private var fault: DispatchError?

  /// - Parameter request: If there is a part of the body, it is changed so that it asks for the rest.
  init(
    _ request: inout DispatchRequest, _ order: sending FileOrder, over capabilities: TransportCapabilities,
    onProgress: TransferProgress.Listener?, _ completion: @escaping FileCompletion
  ) {
    let isUnpacked = request.acceptsCompression ?? false
    mayBeDecoded = isUnpacked || !capabilities.contains(.encodedBodies)
    (store, checksum, keepsServerTime) = (order.store, order.checksum, order.keepsServerTime)
    (self.onProgress, isPrompt, keepsRefusal) = (onProgress, order.store.isPrompt, order.keepsRefusal)
    most = request.maxDownloadBytes
    asksForRange = request.headerFields[.range] != nil
    mayContinue = PartialBody.isPossible(for: request)
    asked = mayContinue ? order.part : nil
    earlier = asked?.size ?? 0
    pressure = Locked(Pressure(completion: completion))
    if asked != nil { PartialBody.ask(for: asked, in: &request) }
  }

  var mayPause: Bool { true }
  var timeoutEndsWithHead: Bool { true }
  var usualIdleLimit: Int64? { RequestFields.usualIdleLimit }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    (self.head, self.url, began, whole, skipped, refusal) = (head, url, nil, nil, 0, [])
    switch answer(head) {
    case .unchanged, .refused, .unusable: break
    case .all:
      isResumable = mayContinue && !isDecoded(head)
      validator = Validator(tag: head[.eTag], modified: head[.lastModified])
      (beginning, began, size) = (.whole(isResumable ? validator : Validator()), 0, 0)
    case .complete: if let asked { try goOn(after: asked, total: asked.size) }
    case .rest(let total): if let asked { try goOn(after: asked, total: total) }
    }
    let declared = isDecoded(head) ? nil : head.declaredLength
    if onProgress != nil { count.begin(total: (whole ?? declared).map(Int64.init), from: Int64(began ?? 0)) }
    if began != nil, !isPrompt, let declared, declared > 0 {
      block.reserveCapacity(min(declared, Self.blockSize))
    }
    return .more
  }

  private func isDecoded(_ head: ResponseHead) -> Bool { mayBeDecoded && head[.contentEncoding] != nil }

  private func answer(_ head: ResponseHead) -> RangeAnswer {
    if asksForRange { return (200...299).contains(head.statusCode) ? .all : .refused }
    if asked != nil, head.statusCode == 206, isDecoded(head) { return .unusable }
    return RangeAnswer(
      status: head.statusCode, contentRange: head[.contentRange], tag: head[.eTag], after: asked?.size,
      of: asked?.validator.tag)
  }

  private func goOn(after part: PartialBody, total: Int) throws(DispatchError) {
    // A response can't tell that of its rest alone.
    if let most, total > most {
      throw DispatchError(
        .bodyTooLarge, phase: .receiving, detail: "the whole body has \(total) bytes, the limit is \(most)")
    }
    (beginning, began, size, whole) = (.rest(after: part), part.size, part.size, total)
    (validator, isResumable) = (part.validator, true)
  }

  /// Whether the body that is stored has all its bytes already. What follows the head describes an error.
  private var isComplete: Bool { began != nil && !(200...299).contains(head.statusCode) }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    guard !bytes.isEmpty else { return .more }
    if began == nil || isComplete {
      if keepsRefusal { refusal += bytes.prefix(Self.mostSkipped - refusal.count) }
      skipped += bytes.count
    }
    // A short body is read to its end, so that the connection can be used again.
    guard skipped <= Self.mostSkipped else { return .abort }
    guard !isComplete else { return .more }
    total += bytes.count
    if onProgress != nil, let progress = count.add(Int64(bytes.count)) { tell(progress) }
    guard let began else { return .more }
    if began == 0 { earlier = 0 }
    size += bytes.count
    block.append(contentsOf: bytes)
    return isPrompt || block.count >= Self.blockSize ? sendBlock(of: operation) : .more
  }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  /// What has arrived of a body whose rest can be requested stays. Any other is taken back: a file gets its final name only
  /// at the end.
  func mayStartAnew() -> Bool { canGoOn || store.withdraw() }

  private var canGoOn: Bool { began != nil && isResumable && PartialBody(size: size, validator) != nil }

  func declines(_ head: ResponseHead) -> Bool { asked != nil && answer(head) == .unusable }

  /// A server may send less than was requested (RFC 9110, section 15.3.7).
  var lacksRest: Bool {
    guard let began, let asked, let whole, !isComplete else { return false }
    return asked.size == began && began < size && size < whole
  }

  func startAnew(
    _ request: DispatchRequest, declining isDeclined: Bool, of operation: DispatchOperation
  ) -> DispatchRequest {
    if isDeclined {
      (asked, earlier) = (nil, 0)
    } else {
      // If none of the response's bytes have arrived, the same is asked for as before.
      if let began, size > began { asked = isResumable ? PartialBody(size: size, validator) : nil }
      // Queued behind the blocks already on their way to the file.
      if asked == nil {
        lane.run { [self] in store.drop() }
      } else if !block.isEmpty {
        _ = sendBlock(of: operation)
      }
    }
    // It may wait for its turn, and then holds no permit that would bound the open files.
    lane.run { [self] in store.suspend() }
    (block, total, trailers, began, beginning) = ([], 0, [:], nil, nil)
    guard mayContinue else { return request }
    // The request may be that of the submission, which asks for the rest of an earlier run's part.
    var request = request
    PartialBody.ask(for: asked, in: &request)
    return request
  }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    let last = Last(
      bytes: block, beginning: beginning, isStored: began != nil, size: size, whole: whole, validator: validator)
    block = []
    if onProgress != nil, outcome.error == nil, let progress = count.end() { tell(progress) }
    let ending = Ending(
      outcome: outcome, of: operation, head: head, url: url, bytes: began == nil ? total : size,
      continuedFrom: began ?? 0 > 0 ? earlier : 0, trailers, refusal)
    lane.run { [self] in finish(last, ending) }
  }

  private func sendBlock(of operation: DispatchOperation) -> BodyFlow {
    let (full, beginning) = (block, beginning.take())
    block = []
    if !isPrompt { block.reserveCapacity(Self.blockSize) }
    let flow = pressure.withLock { $0.backlog.add(Backlog.size(ofPiece: full.count)) }
    lane.run { [self] in write(full, after: beginning, of: operation) }
    return flow
  }

  /// Reports progress on the lane. If a report is already scheduled, it is updated instead.
  private func tell(_ progress: TransferProgress) {
    let isOnItsWay = pressure.withLock { pressure in
      defer { pressure.progress = progress }
      return pressure.progress != nil
    }
    guard !isOnItsWay else { return }
    lane.run { [self] in
      let latest = pressure.withLock { $0.progress.take() }
      if let latest { onProgress?(latest) }
    }
  }

  // MARK: On the lane

  private func write(_ bytes: [UInt8], after beginning: Beginning?, of operation: DispatchOperation) {
    if fault == nil {
      do throws(DispatchError) {
        try begin(beginning)
        hash?.update(bytes)
        try store.append(bytes)
      } catch {
        fault = error
        operation.fail(error)
      }
    }
    if pressure.withLock({ $0.backlog.remove(Backlog.size(ofPiece: bytes.count)) }) { operation.resume() }
  }

  private func begin(_ beginning: Beginning?) throws(DispatchError) {
    switch beginning {
    case nil: break
    case .whole(let validator):
      try store.begin(validator)
      hash = checksum.map { _ in SHA256() }
    case .rest(let part):
      try store.goOn(after: part)
      // With bytes of an earlier run, the file is read at the end, and not now: the server would wait for that.
      if hash?.count != part.size { hash = nil }
    }
  }

  /// What the transport's side knows of the body at the end.
  private struct Last {
    let bytes: [UInt8]
    let beginning: Beginning?
    let isStored: Bool
    let size: Int
    let whole: Int?
    let validator: Validator
  }

  private func finish(_ last: Last, _ ending: Ending) {
    if let error = ending.outcome.error ?? fault {
      if fault == nil, last.isStored, (try? begin(last.beginning)) != nil {
        store.leave(last.bytes)
      } else {
        store.leave([])
      }
      return tell(ending, .failure(error))
    }
    guard last.isStored else {
      // A refusal may pass, but not that there is no such body.
      if [404, 410].contains(ending.head.statusCode) { store.drop() } else { store.leave([]) }
      return tell(ending, .success(nil))
    }
    do throws(DispatchError) {
      try begin(last.beginning)
      store.finish(try complete(last)) { [self] result in tell(ending, result.map { $0 }) }
    } catch {
      if error.code == .badResponse { store.drop() } else { store.leave([]) }
      tell(ending, .failure(error))
    }
  }

  /// The body, compared with its size and its checksum.
  private func complete(_ last: Last) throws(DispatchError) -> CompleteBody {
    if let whole = last.whole, last.size != whole {
      throw DispatchError(
        .badResponse, phase: .receiving,
        detail: "the parts of the body have \(last.size) bytes in total instead of \(whole)")
    }
    var rest = last.bytes
    if let checksum {
      if hash == nil, !rest.isEmpty {
        try store.append(rest)
        rest = []
      }
      hash?.update(rest)
      let found = if let hash { Checksum(hash) } else { try store.checksum() }
      do throws(ChecksumError) { try checksum.check(found) } catch {
        throw DispatchError(.badResponse, phase: .receiving, detail: error.description, underlyingError: error)
      }
    }
    return CompleteBody(
      rest: rest, size: last.size, validator: last.validator, checksum: checksum,
      modified: keepsServerTime ? last.validator.modifiedSeconds : nil)
  }

  /// Tells the caller, once.
  private func tell(_ ending: Ending, _ stored: Result<String?, DispatchError>) {
    let completion = pressure.withLock { $0.completion.take() }
    completion?(ending.result(stored))
    ending.core.operations.remove()
  }
}

/// The end of a download: what the response tells the caller, beside its file.
private struct Ending: Sendable {
  let outcome: OperationState.Outcome
  let endPoint: EndPoint
  let core: DispatchCore
  let weight: SentWeight?
  let head: ResponseHead
  let url: String
  let bytes: Int
  let continuedFrom: Int
  let trailers: HTTPFields
  let refusal: [UInt8]

  init(
    outcome: OperationState.Outcome, of operation: DispatchOperation, head: ResponseHead, url: String, bytes: Int,
    continuedFrom: Int, _ trailers: HTTPFields, _ refusal: [UInt8]
  ) {
    (self.outcome, self.head, self.url, self.bytes) = (outcome, head, url, bytes)
    (self.continuedFrom, self.trailers) = (continuedFrom, trailers)
    self.refusal = refusal
    (endPoint, core, weight) = (operation.endPoint, operation.core, operation.sentWeight)
  }

  func result(_ stored: Result<String?, DispatchError>) -> Result<FileResponse, DispatchError> {
    let times = outcome.times
    return switch stored {
    case .success(let path):
      .success(
        FileResponse(
          head: head, url: url, path: path, bytes: bytes, continuedFrom: continuedFrom, trailers: trailers,
          times: times, weight: weight, refusal: path == nil ? refusal : []))
    // The request's outcome was decided before this. Only the file failed, so the times are those of the response.
    case .failure(let error) where error.endPoint == nil:
      .failure(error.at(endPoint, waited: times.queued, ran: times.total - times.queued))
    case .failure(let error): .failure(error)
    }
  }
}
