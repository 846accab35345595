/// The lines of a response's body, as they arrive. See ``StreamedBody/lines(maxLineBytes:)``.
public struct BodyLines: AsyncSequence, Sendable {
  /// A line without its terminator. Invalid UTF-8 becomes U+FFFD.
  public typealias Element = String
  /// The error that ended the body early.
  public typealias Failure = DispatchError

  fileprivate let body: StreamedBody
  fileprivate let maxLineBytes: Int

  /// Creates an iterator. Use only one: several iterators share the pieces of the body and would split lines.
  public func makeAsyncIterator() -> Iterator {
    Iterator(
      body: body, pieces: body.makeAsyncIterator(), lines: LineCutter(maxLineBytes: maxLineBytes, tooLong: .lineTooLong)
    )
  }

  /// Reads a body line by line.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let body: StreamedBody
    fileprivate var pieces: StreamedBody.Iterator
    fileprivate var lines: LineCutter

    /// The next line; nil at the end.
    ///
    /// - Throws: ``DispatchError``: `lineTooLong`, which also cancels the request; `cancelled` if the task is
    ///   cancelled; or the error that ended the body early.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> String? {
      let body = body
      while true {
        if let line = try body.endingOnError({ () throws(DispatchError) in try lines.next() }) {
          return String(decoding: line, as: UTF8.self)
        }
        guard let piece = try await pieces.next(isolation: actor) else {
          return lines.finish().map { String(decoding: $0, as: UTF8.self) }
        }
        lines.add(piece)
      }
    }
  }
}

extension StreamedBody {
  /// The body as lines of text, each delivered as soon as it is complete.
  ///
  ///     for try await line in try await dispatcher.stream(for: url).body.lines() { print(line) }
  ///
  /// A line ends with CR LF, LF or CR. The last line may also end with the body. A byte order mark at the start is
  /// removed. Memory holds one piece of the body and one line.
  ///
  /// - Parameter maxLineBytes: The maximum length of a line in bytes, without its terminator; 1 MiB by default. A
  ///   longer line ends the request with the error `lineTooLong`.
  public func lines(maxLineBytes: Int = 1 << 20) -> BodyLines { BodyLines(body: self, maxLineBytes: maxLineBytes) }

  /// Takes an element from the bytes received so far. Cancels the request if that throws, or if the task was cancelled.
  func endingOnError<Value>(_ take: () throws(DispatchError) -> Value?) throws(DispatchError) -> Value? {
    do throws(DispatchError) {
      if Task.isCancelled { throw DispatchError(.cancelled, phase: .receiving) }
      return try take()
    } catch {
      cancel()
      throw error.at(endPoint)
    }
  }
}
