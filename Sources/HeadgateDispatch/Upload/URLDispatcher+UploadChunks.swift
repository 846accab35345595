import HTTPTypes
import HeadgateFlow
import HeadgateThreads

extension URLDispatcher {
  /// Sends a file in chunks, each by a request of its own, one after another.
  ///
  ///     let request = try DispatchRequest("https://example.com/uploads/7", method: .put)
  ///     try await dispatcher.uploadChunks(ofFile: path, for: request, from: known)
  ///
  /// Each chunk waits for a permit like every request, with the priority and the limits on time of `template`, and gives it
  /// back before the next one: other requests go in between. The chunk is read from the file while it is sent, so memory
  /// does not grow with `size`. The server has a chunk when it answers with a status from 200 to 299, or with 308 and no
  /// place to go to ("resume incomplete"). Nothing is sent after the first failure; its ``ChunkUploadError/offset`` is where to go on.
  ///
  /// As much is sent as the file has at the start: what is appended meanwhile is left out, and one that becomes shorter
  /// ends with `fileFailed`.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - template: Where to and how. Its body is replaced by the chunk, its method by `PUT` if it is `GET`, and a
  ///     `Content-Range` field is set. A ``DispatchRequest/retry`` of its own holds for each chunk.
  ///   - size: The most bytes of a chunk; 1 or more. Only the last one is shorter.
  ///   - offset: Where to begin, in bytes: what an earlier attempt reached. The file's end is as good, and sends nothing;
  ///     so does an empty file.
  ///   - onProgress: Told of what has been sent of the whole file, as ``DispatchRequest/onUploadProgress``.
  ///   - makeRequest: Makes the request of a chunk from the one that would be sent, for servers that count in another way;
  ///     nil: that is sent as it is.
  /// - Returns: How many bytes the server has accepted: all.
  /// - Throws: ``ChunkUploadError``, which says how far it came.
  @discardableResult
  public func uploadChunks(
    ofFile path: String, for template: DispatchRequest, size: Int64 = 8 << 20, from offset: Int64 = 0,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
    makeRequest: (@Sendable (DispatchRequest, UploadChunk) throws -> DispatchRequest)? = nil
  ) async throws(ChunkUploadError) -> Int64 {
    guard size > 0, offset >= 0 else { throw ChunkUploadError(.invalidArgument, at: offset) }
    let total = try await length(ofFile: path, from: offset)
    guard offset <= total, let length = Int(exactly: total) else {
      throw ChunkUploadError(.invalidArgument, at: offset)
    }
    do throws(FlowError<ChunkUploadError>) {
      try await sendChunks(ofLength: length, size: Int(clamping: size), from: Int(clamping: offset)) {
        range async throws(ChunkUploadError) in
        let chunk = UploadChunk(range: Int64(range.lowerBound)..<Int64(range.upperBound), total: total)
        try await self.send(chunk, try chunk.request(ofFile: path, template, makeRequest, onProgress))
      }
    } catch {
      // Without a failure of its own it was cancelled between two chunks.
      throw error.failure ?? ChunkUploadError(.cancelled, at: Int64(error.offset ?? 0), error)
    }
    return total
  }

  private func send(_ chunk: UploadChunk, _ request: DispatchRequest) async throws(ChunkUploadError) {
    let response: DispatchResponse
    do throws(DispatchError) { response = try await data(for: request) } catch {
      throw ChunkUploadError(chunk, error)
    }
    guard UploadChunk.isAccepted(response.head) else {
      throw ChunkUploadError(.notAccepted, at: chunk.range.lowerBound, response: response)
    }
  }

  private func length(ofFile path: String, from offset: Int64) async throws(ChunkUploadError) -> Int64 {
    let length = await withContinuation { (continuation: CheckedContinuation<Result<Int64, DispatchError>, Never>) in
      RequestBody(file: path).open(nil) { opened in continuation.resume(returning: opened.map { $0.length ?? 0 }) }
    }
    do throws(DispatchError) { return try length.get() } catch {
      throw ChunkUploadError(.fileFailed, at: offset, error.underlying ?? error)
    }
  }
}

extension UploadChunk {
  /// Whether an answer says that the server has the chunk: a status from 200 to 299, or 308 without a `Location`.
  static func isAccepted(_ head: ResponseHead) -> Bool {
    (200...299).contains(head.statusCode) || head.statusCode == 308 && head[.location] == nil
  }

  fileprivate func request(
    ofFile path: String, _ template: DispatchRequest,
    _ change: (@Sendable (DispatchRequest, UploadChunk) throws -> DispatchRequest)?,
    _ onProgress: (@Sendable (UploadProgress) -> Void)?
  ) throws(ChunkUploadError) -> DispatchRequest {
    var request = template
    if request.method == .get { request.method = .put }
    request.headerFields[.contentRange] = contentRange
    request.body = RequestBody(file: path, range: range)
    if let onProgress {
      request.onUploadProgress = { [self] progress in
        onProgress(UploadProgress(sent: range.lowerBound + progress.sent, total: total))
      }
    }
    do {
      return try change?(request, self) ?? request
    } catch {
      throw ChunkUploadError(.requestNotMade, at: range.lowerBound, error)
    }
  }
}

extension ChunkUploadError {
  fileprivate init(_ chunk: UploadChunk, _ error: DispatchError) {
    switch error.code {
    case .cancelled: self.init(.cancelled, at: chunk.range.lowerBound, error)
    case .bodyFailed: self.init(.fileFailed, at: chunk.range.lowerBound, error.underlying ?? error)
    default: self.init(.requestFailed, at: chunk.range.lowerBound, error)
    }
  }
}
