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
      pieces: body.makeAsyncIterator(), lines: LineCutter(maxLineBytes: maxLineBytes, tooLong: .lineTooLong))
  }

  /// Reads a body line by line.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var pieces: StreamedBody.Iterator
    fileprivate var lines: LineCutter

    /// The next line; nil at the end.
    ///
    /// - Throws: `DispatchError`: `lineTooLong`, which also cancels the request; `cancelled` if the task is
    ///   cancelled; or the error that ended the body early.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> String? {
      let line = try await pieces.next(of: &lines, isolation: actor) ?? lines.finish()
      return line.map { String(decoding: $0, as: UTF8.self) }
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
}

/// Cuts the pieces of a body into elements.
protocol BodyParser {
  associatedtype Element

  /// Adds the next piece.
  mutating func add(_ bytes: [UInt8])

  /// The next element. Nil if more bytes are needed.
  mutating func next() throws(DispatchError) -> Element?
}

extension StreamedBody.Iterator {
  /// The next element; nil at the end of the body. Cancels the request if the parser throws, or if the task was
  /// cancelled.
  mutating func next<Parser: BodyParser>(
    of parser: inout Parser, isolation actor: isolated (any Actor)?
  ) async throws(DispatchError) -> Parser.Element? {
    while true {
      do throws(DispatchError) {
        if Task.isCancelled { throw DispatchError(.cancelled, phase: .receiving) }
        if let element = try parser.next() { return element }
      } catch {
        operation.cancel()
        throw error.at(operation.endPoint)
      }
      guard let piece = try await next(isolation: actor) else { return nil }
      parser.add(piece)
    }
  }
}
