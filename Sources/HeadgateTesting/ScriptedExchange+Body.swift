import HeadgateDispatch
import HeadgateThreads

extension ScriptedExchange {
  /// Takes the next bytes of the request's body, if they are available, like a transport with room for `count` bytes.
  ///
  /// - Parameter count: The maximum number of bytes.
  /// - Returns: The body's result, and the bytes; `BodyRead.end` for a request without a body.
  public func takeBody(upTo count: Int = 65536) -> (read: BodyRead, bytes: [UInt8]) {
    takeBody(upTo: count) {}
  }

  /// Takes the next bytes of the request's body, waiting for them if necessary.
  ///
  /// - Parameter count: The maximum number of bytes.
  /// - Returns: The bytes; empty at the end. Nil if the body failed or was stopped.
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled while it waits.
  public func nextBody(upTo count: Int = 65536) async throws(WaitError) -> [UInt8]? {
    while true {
      let ready = Gate("the next bytes of the request's body")
      let (read, bytes) = takeBody(upTo: count) { ready.open() }
      switch read {
      case .bytes: return bytes
      case .end: return []
      case .failed: return nil
      case .wait: try await ready.wait()
      }
    }
  }

  /// Takes the rest of the request's body. Nil if it failed or was stopped early.
  ///
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled while it waits.
  public func restOfBody() async throws(WaitError) -> [UInt8]? {
    var all: [UInt8] = []
    while let bytes = try await nextBody() {
      if bytes.isEmpty { return all }
      all += bytes
    }
    return nil
  }

  private func takeBody(upTo count: Int, whenReady: @escaping @Sendable () -> Void) -> (read: BodyRead, bytes: [UInt8])
  {
    guard let body = exchange.body else { return (.end, []) }
    var bytes = [UInt8](repeating: 0, count: max(1, count))
    let read = bytes.withUnsafeMutableBytes { body.read(into: $0, whenReady: whenReady) }
    guard case .bytes(let taken) = read else { return (read, []) }
    bytes.removeLast(bytes.count - taken)
    return (read, bytes)
  }
}
