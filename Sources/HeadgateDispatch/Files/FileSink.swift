import HTTPTypes
import HeadgateThreads

/// Writes a body to a file, on threads of its own: a slow disk stops its own transfers, at their sockets, and no others.
///
/// Bytes gather into blocks, and a few blocks may be on their way to the disk. A small body is one block, and its file
/// is created, written, closed and renamed in one go.
// Unchecked: `head`, `url`, `block`, `total`, `count` and `trailers` are touched only in the sink's calls, of which the operation makes one
// at a time, each after it has taken its lock; `file` and `fault` only in jobs of `lane`, which runs one at a time.
final class FileSink: ResponseSink, @unchecked Sendable {
  static let crew = LaneCrew(name: "headgate-files", size: 4)

  private static let blockSize = 256 * 1024
  private static let mostBlocks = 4

  private struct Pressure {
    var blocks = 0
    var isStopped = false
    var operation: DispatchOperation?
    // Taken out at the end: what it holds, and perhaps the operation's handle, is let go of then.
    var completion: FileCompletion?
    // What the listener is told next: one job at a time is on its way to it.
    var progress: DownloadProgress?
  }

  private let destination: FileDestination
  private let acceptance: Acceptance?
  private let onProgress: DownloadProgress.Listener?
  private let lane = SerialLane(on: FileSink.crew)
  private let pressure: Locked<Pressure>

  private var head = ResponseHead(statusCode: 0)
  private var url = ""
  private var isWanted = false
  private var block: [UInt8] = []
  private var total = 0
  private var count = DownloadCount(expected: nil)
  private var trailers: HTTPFields = [:]

  private var file: PartFile?
  private var fault: DispatchError?

  init(
    _ destination: FileDestination, acceptance: Acceptance?, onProgress: DownloadProgress.Listener? = nil,
    _ completion: @escaping FileCompletion
  ) {
    self.destination = destination
    self.acceptance = acceptance
    self.onProgress = onProgress
    self.pressure = Locked(Pressure(completion: completion))
  }

  var mayPause: Bool { true }

  /// Whom to stop and resume. Said once, before the submission.
  func attach(_ operation: DispatchOperation) { pressure.withLock { $0.operation = operation } }

  func accepted() { acceptance?.signal() }

  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow {
    self.head = head
    self.url = url
    isWanted = (200...299).contains(head.statusCode)
    if onProgress != nil { count.begin(expecting: head.declaredLength.map { Int64($0) }) }
    if isWanted, let declared = head.declaredLength, declared > 0 {
      block.reserveCapacity(min(declared, Self.blockSize))
    }
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow {
    total += bytes.count
    if onProgress != nil, let progress = count.add(bytes.count) { tell(progress) }
    guard isWanted else { return .more }
    block.append(contentsOf: bytes)
    return block.count >= Self.blockSize ? sendBlock() : .more
  }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  /// The file gets its name at the end.
  var isUnseen: Bool { true }

  func startAnew() {
    (block, total, trailers) = ([], 0, [:])
    // After the blocks that are on their way to it.
    lane.run { [self] in file.take()?.discard() }
  }

  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore) {
    acceptance?.signal()
    let last = block
    block = []
    if onProgress != nil, error == nil, let progress = count.end() { tell(progress) }
    // After this the operation is over: letting go of it here ends the cycle between the two.
    let operation = pressure.withLock { $0.operation.take() }
    let endPoint = operation?.endPoint
    let trailers = trailers
    lane.run { [self] in
      let completion = pressure.withLock { $0.completion.take() }
      completion?(finish(last, error, times, endPoint, trailers))
      core.operations.remove()
    }
  }

  private func sendBlock() -> BodyFlow {
    let full = block
    block = []
    block.reserveCapacity(Self.blockSize)
    let isStopped = pressure.withLock { pressure in
      pressure.blocks += 1
      if pressure.blocks >= Self.mostBlocks { pressure.isStopped = true }
      return pressure.isStopped
    }
    lane.run { [self] in write(full) }
    return isStopped ? .pause : .more
  }

  /// Tells the listener, on the lane, unless it is about to be told of less: then that is made more.
  private func tell(_ progress: DownloadProgress) {
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

  private func write(_ bytes: [UInt8]) {
    if fault == nil {
      do throws(DispatchError) { try store(bytes) } catch { fault = error }
      if let fault { pressure.withLock { $0.operation }?.fail(fault) }
    }
    let operation = pressure.withLock { pressure -> DispatchOperation? in
      pressure.blocks -= 1
      guard pressure.isStopped, pressure.blocks <= Self.mostBlocks / 2 else { return nil }
      pressure.isStopped = false
      return pressure.operation
    }
    operation?.resume()
  }

  private func store(_ bytes: [UInt8]) throws(DispatchError) {
    if file == nil { file = try PartFile(for: destination) }
    try file?.write(bytes)
  }

  private func finish(
    _ last: [UInt8], _ error: DispatchError?, _ times: DispatchTimes, _ endPoint: EndPoint?, _ trailers: HTTPFields
  ) -> Result<FileResponse, DispatchError> {
    do throws(DispatchError) {
      if let error = error ?? fault { throw error }
      var path: String?
      if isWanted {
        try store(last)
        path = try file.take()?.finish()
      }
      return .success(FileResponse(head: head, url: url, path: path, bytes: total, trailers: trailers, times: times))
    } catch {
      file.take()?.discard()
      // What fails here has been decided well before: only the file is at fault, and the times are those of the response.
      guard error.endPoint == nil else { return .failure(error) }
      return .failure(
        error.at(endPoint, waited: times.queued, ran: times.total - times.queued))
    }
  }
}
