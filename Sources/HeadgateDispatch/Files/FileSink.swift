import HTTPTypes
import HeadgateThreads

/// Whether the body of a response with a success status is stored. If not, it is discarded like that of another status.
/// Called on the transport's thread.
package typealias FileWish = @Sendable (_ head: ResponseHead) -> Bool

/// Writes a body to a file on threads of its own. A slow disk pauses only its own transfers, at their sockets.
///
/// Bytes are collected into blocks, and a few blocks may be waiting for the disk. A small body is a single block,
/// whose file is created, written, closed and renamed in one step.
// Unchecked: `head`, `url`, `block`, `total`, `count` and `trailers` are used only in the sink's methods, which the
// operation calls one at a time, each after taking its lock; `file`, `hash` and `fault` only in jobs of `lane`, which
// runs one at a time.
final class FileSink: ResponseSink, @unchecked Sendable {
  static let crew = LaneCrew(name: "headgate-files", size: 4)

  private static let blockSize = 256 * 1024

  private struct Pressure {
    // In blocks.
    var backlog = Backlog(high: 4, low: 2)
    // Set to nil at the end, which releases what the closure captures, possibly the operation's own handle.
    var completion: FileCompletion?
    // The next progress to report. At most one job for the listener is scheduled.
    var progress: TransferProgress?
  }

  private let destination: FileDestination
  private let wish: FileWish?
  private let onProgress: TransferProgress.Listener?
  private let lane = SerialLane(on: FileSink.crew)
  private let pressure: Locked<Pressure>

  private var head = ResponseHead(statusCode: 0)
  private var url = ""
  private var isWanted = false
  private var block: [UInt8] = []
  private var total = 0
  private var count = ProgressCount(longestStep: 1 << 20)
  private var trailers: HTTPFields = [:]

  private var file: PartFile?
  // Of the bytes in the file. Nil if no checksum is expected.
  private var hash: SHA256?
  private var fault: DispatchError?

  init(
    _ destination: FileDestination, storing wish: FileWish? = nil, onProgress: TransferProgress.Listener? = nil,
    _ completion: @escaping FileCompletion
  ) {
    self.destination = destination
    self.wish = wish
    self.onProgress = onProgress
    self.pressure = Locked(Pressure(completion: completion))
  }

  var mayPause: Bool { true }
  var timeoutEndsWithHead: Bool { true }
  var usualIdleLimit: Int64? { RequestFields.usualIdleLimit }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    self.head = head
    self.url = url
    isWanted = (200...299).contains(head.statusCode) && (wish?(head) ?? true)
    if onProgress != nil { count.begin(total: head.declaredLength.map { Int64($0) }) }
    if isWanted, let declared = head.declaredLength, declared > 0 {
      block.reserveCapacity(min(declared, Self.blockSize))
    }
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    total += bytes.count
    if onProgress != nil, let progress = count.add(Int64(bytes.count)) { tell(progress) }
    guard isWanted else { return .more }
    block.append(contentsOf: bytes)
    return block.count >= Self.blockSize ? sendBlock(of: operation) : .more
  }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  /// The file gets its final name only at the end.
  var isUnseen: Bool { true }

  func startAnew(_ operation: DispatchOperation) {
    (block, total, trailers) = ([], 0, [:])
    // Queued behind the blocks already on their way to the file.
    lane.run { [self] in file.take()?.discard() }
  }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    let last = block
    block = []
    if onProgress != nil, outcome.error == nil, let progress = count.end() { tell(progress) }
    let (endPoint, core, trailers, weight) = (operation.endPoint, operation.core, trailers, operation.sentWeight)
    lane.run { [self] in
      let completion = pressure.withLock { $0.completion.take() }
      completion?(finish(last, outcome, endPoint, trailers, weight))
      core.operations.remove()
    }
  }

  private func sendBlock(of operation: DispatchOperation) -> BodyFlow {
    let full = block
    block = []
    block.reserveCapacity(Self.blockSize)
    let flow = pressure.withLock { $0.backlog.add(1) }
    lane.run { [self] in write(full, of: operation) }
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

  private func write(_ bytes: [UInt8], of operation: DispatchOperation) {
    if fault == nil {
      do throws(DispatchError) { try store(bytes) } catch {
        fault = error
        operation.fail(error)
      }
    }
    if pressure.withLock({ $0.backlog.remove(1) }) { operation.resume() }
  }

  private func store(_ bytes: [UInt8]) throws(DispatchError) {
    if file == nil {
      file = try PartFile(for: destination)
      hash = destination.checksum.map { _ in SHA256() }
    }
    hash?.update(bytes)
    try file?.append(bytes)
  }

  /// Compares the body with its checksum before its file gets its name.
  private func check() throws(DispatchError) {
    guard let expected = destination.checksum else { return }
    do throws(ChecksumError) { try expected.check(Checksum(hash ?? SHA256())) } catch {
      throw DispatchError(.badResponse, phase: .receiving, detail: error.description, underlyingError: error)
    }
  }

  private func finish(
    _ last: [UInt8], _ outcome: OperationState.Outcome, _ endPoint: EndPoint, _ trailers: HTTPFields,
    _ weight: SentWeight?
  ) -> Result<FileResponse, DispatchError> {
    let times = outcome.times
    do throws(DispatchError) {
      if let error = outcome.error ?? fault { throw error }
      var path: String?
      if isWanted {
        try store(last)
        try check()
        path = try file.take()?.finish(modified: destination.keepsServerTime ? head.modified : nil)
      }
      return .success(
        FileResponse(
          head: head, url: url, path: path, bytes: total, trailers: trailers, times: times, weight: weight))
    } catch {
      file.take()?.discard()
      // The request's outcome was decided before this. Only the file failed, so the times are those of the response.
      guard error.endPoint == nil else { return .failure(error) }
      return .failure(
        error.at(endPoint, waited: times.queued, ran: times.total - times.queued))
    }
  }
}
