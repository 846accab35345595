import HTTPTypes
import HeadgateThreads

extension URLDispatcher {
  /// Sends a file in chunks, one request after another.
  ///
  ///     let request = try DispatchRequest("https://example.com/uploads/7", method: .put)
  ///     try await dispatcher.uploadChunks(ofFile: path, for: request, from: known)
  ///
  /// Each chunk waits for a permit like any request, with the priority and time limits of `template`, and returns it
  /// before the next chunk: other requests can run in between. A chunk is read from the file while it is sent, so
  /// memory use does not depend on `size`. A chunk is accepted if the server answers with a status from 200 to 299,
  /// or with 308 without a `Location` field ("resume incomplete"). The first failure ends the upload;
  /// ``ChunkUploadError/offset`` is where to resume.
  ///
  /// The length of the file at the start is sent. Data appended meanwhile is ignored; a file that becomes shorter
  /// ends the upload with `fileFailed`.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - template: The request to send for each chunk. Its body is replaced by the chunk, the method `GET` becomes
  ///     `PUT`, and a `Content-Range` field is set. A ``DispatchRequest/retry`` policy applies to each chunk.
  ///   - size: The size of a chunk in bytes, 1 or more. Only the last one may be shorter.
  ///   - offset: The offset in bytes to start at, from an earlier attempt. The end of the file is a valid offset:
  ///     nothing is sent then, nor for an empty file.
  ///   - onProgress: Receives progress for the whole file, as for ``DispatchRequest/onUploadProgress``.
  ///   - makeRequest: Changes the request of a chunk, for servers with another protocol. Nil: the request is sent as
  ///     prepared from `template`.
  /// - Returns: The number of bytes that the server has accepted: the length of the file.
  /// - Throws: ``ChunkUploadError``, which contains the offset reached.
  @discardableResult
  public func uploadChunks(
    ofFile path: String, for template: DispatchRequest, size: Int64 = 8 << 20, from offset: Int64 = 0,
    onProgress: TransferProgress.Listener? = nil,
    makeRequest: (@Sendable (DispatchRequest, UploadChunk) throws -> DispatchRequest)? = nil
  ) async throws(ChunkUploadError) -> Int64 {
    guard size > 0, offset >= 0 else { throw ChunkUploadError(.invalidArgument, at: offset) }
    let total = try await length(ofFile: path, from: offset)
    guard offset <= total else { throw ChunkUploadError(.invalidArgument, at: offset) }
    var start = offset
    while start < total {
      guard !Task.isCancelled else { throw ChunkUploadError(.cancelled, at: start) }
      let chunk = UploadChunk(range: start..<start + min(size, total - start), total: total)
      try await send(chunk, try chunk.request(ofFile: path, template, makeRequest, onProgress))
      start = chunk.range.upperBound
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
      throw ChunkUploadError(.fileFailed, at: offset, error.underlyingError ?? error)
    }
  }
}

extension UploadChunk {
  /// Whether a response means that the server has the chunk: a status from 200 to 299, or 308 without a `Location`.
  static func isAccepted(_ head: ResponseHead) -> Bool {
    (200...299).contains(head.statusCode) || head.statusCode == 308 && head[.location] == nil
  }

  fileprivate func request(
    ofFile path: String, _ template: DispatchRequest,
    _ change: (@Sendable (DispatchRequest, UploadChunk) throws -> DispatchRequest)?,
    _ onProgress: TransferProgress.Listener?
  ) throws(ChunkUploadError) -> DispatchRequest {
    var request = template
    if request.method == .get { request.method = .put }
    request.headerFields[.contentRange] = contentRange
    request.body = RequestBody(file: path, range: range)
    if let onProgress {
      request.onUploadProgress = { [self] progress in
        onProgress(TransferProgress(bytes: range.lowerBound + progress.bytes, total: total))
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
    case .bodyFailed: self.init(.fileFailed, at: chunk.range.lowerBound, error.underlyingError ?? error)
    default: self.init(.requestFailed, at: chunk.range.lowerBound, error)
    }
  }
}
