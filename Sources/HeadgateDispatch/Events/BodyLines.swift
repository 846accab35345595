/// The lines of a response's body, as they come: see ``StreamedBody/lines(maxLineBytes:)``.
public struct BodyLines: AsyncSequence, Sendable {
  /// A line without its end; what is no UTF-8 becomes U+FFFD.
  public typealias Element = String
  /// What ends a body early.
  public typealias Failure = DispatchError

  fileprivate let body: StreamedBody
  fileprivate let maxLineBytes: Int

  /// A reader. Several of them share the pieces of the body, and would cut lines in two: make one.
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
    /// - Throws: ``DispatchError``: `lineTooLong` (the request is cancelled then), `cancelled` when the task is, and what
    ///   broke the body off.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> String? {
      try await advance()
    }

    /// The next line; nil at the end. Throws as ``next(isolation:)``.
    public mutating func next() async throws(DispatchError) -> String? { try await advance() }

    private nonisolated(nonsending) mutating func advance() async throws(DispatchError) -> String? {
      let body = body
      while true {
        if let line = try body.endingOnError({ () throws(DispatchError) in try lines.next() }) {
          return String(decoding: line, as: UTF8.self)
        }
        guard let piece = try await pieces.next(isolation: #isolation) else {
          return lines.finish().map { String(decoding: $0, as: UTF8.self) }
        }
        lines.add(piece)
      }
    }
  }
}

extension StreamedBody {
  /// The body as lines of text, each as soon as it is whole.
  ///
  ///     for try await line in try await dispatcher.stream(for: url).body.lines() { print(line) }
  ///
  /// A line ends with CR LF, LF or CR, and the last one with the body; a byte order mark at the start is left out. Memory
  /// holds one piece of the body and one line.
  ///
  /// - Parameter maxLineBytes: The longest line that is taken, in bytes without its end; a mebibyte unless given. A longer
  ///   one ends the request with the error `lineTooLong`.
  public func lines(maxLineBytes: Int = 1 << 20) -> BodyLines { BodyLines(body: self, maxLineBytes: maxLineBytes) }

  /// Takes something out of what has come. If that can't be, or the task was cancelled, the request is cancelled.
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
