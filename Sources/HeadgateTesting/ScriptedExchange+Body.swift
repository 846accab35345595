import HeadgateDispatch

extension ScriptedExchange {
  /// The next bytes of the request's body, so many at most, if they are there: as a transport that has room takes them.
  ///
  /// - Parameter count: How many bytes the transport has room for.
  /// - Returns: What the body answers, and the bytes; `BodyRead.end` for a request without a body.
  public func takeBody(upTo count: Int = 65536) -> (read: BodyRead, bytes: [UInt8]) {
    takeBody(upTo: count) {}
  }

  /// The next bytes of the request's body, waiting until some are there.
  ///
  /// - Parameter count: How many bytes the transport has room for.
  /// - Returns: The bytes; none at the end. Nil when the body failed or was stopped.
  public func nextBody(upTo count: Int = 65536) async -> [UInt8]? {
    while true {
      let ready = Gate()
      let (read, bytes) = takeBody(upTo: count) { ready.open() }
      switch read {
      case .bytes: return bytes
      case .end: return []
      case .failed: return nil
      case .wait: await ready.wait()
      }
    }
  }

  /// The rest of the request's body. Nil when it failed or was stopped before its end.
  public func restOfBody() async -> [UInt8]? {
    var all: [UInt8] = []
    while let bytes = await nextBody() {
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
