import CCurl

/// What a handle's callbacks for heads and bodies need, at an address that stays: there is a call for each line, and most
/// of them need no object.
struct Incoming: ~Copyable {
  /// What has arrived of the exchange's head.
  var head: HeadLines
  /// The current exchange. Unretained: the loop keeps it until the handle is taken back.
  var transfer: Unmanaged<CurlTransfer>?
  /// Whether the exchange wants to hear of each line.
  var hearsLines = false

  init(atMost cap: Int) { head = HeadLines(atMost: cap) }

  // Each of the callbacks below gets the pointer that CurlEasy allocates and frees. They run on the loop's thread, one at
  // a time, and nothing changes the head but they and `CurlEasy.prepare`, which libcurl does not call.

  static let write: ccurl_data_function = { bytes, size, count, pointer in
    guard let bytes, let pointer else { return 0 }
    let incoming = pointer.assumingMemoryBound(to: Incoming.self)
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    if incoming.pointee.head.isDone { return incoming.pointee.called?.received(piece) ?? 0 }
    // A line of the head. The function below gets it too, after libcurl has stored it: see CurlVersion.
    return incoming.pointee.goesOn(incoming.pointee.head.takeFirst(piece)) ? piece.count : 0
  }

  static let header: ccurl_data_function = { bytes, size, count, pointer in
    guard let bytes, let pointer else { return 0 }
    let incoming = pointer.assumingMemoryBound(to: Incoming.self)
    // The function above has read it.
    if CurlVersion.mustSeeLinesFirst, !incoming.pointee.head.isDone { return size * count }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return incoming.pointee.goesOn(incoming.pointee.head.takeUnlessKnown(line)) ? line.count : 0
  }

  private func goesOn(_ line: HeadLines.Line) -> Bool {
    if case .inside = line, !hearsLines, !CurlVersion.readsCookiesUnlocked { return true }
    return called?.received(line) ?? false
  }

  private var called: CurlTransfer? { transfer.flatMap(CurlCallbacks.called) }
}
