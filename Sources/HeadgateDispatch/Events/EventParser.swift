/// Parses events from the bytes of a stream, in pieces of any size: WHATWG HTML, section 9.2.6, "Interpreting an event
/// stream". No clock, no I/O. O(1) for each byte.
struct EventParser: BodyParser {
  private let maxEventBytes: Int
  private var lines: LineCutter
  private var data: [UInt8] = []
  private var name = ""
  private var id: String

  /// The current identifier: the last one that a blank line confirmed.
  private(set) var lastEventID: String

  /// The wait requested by the server's last valid `retry` field. Nil if there was none.
  private(set) var reconnectionTime: Duration?

  /// - Parameters:
  ///   - maxEventBytes: The maximum length in bytes of a line and of an event's data.
  ///   - lastEventID: The last identifier of the previous connection.
  init(maxEventBytes: Int, lastEventID: String = "") {
    self.maxEventBytes = maxEventBytes
    lines = LineCutter(maxLineBytes: maxEventBytes, tooLong: .eventTooLarge)
    id = lastEventID
    self.lastEventID = lastEventID
  }

  /// Adds the next piece of the stream.
  mutating func add(_ bytes: [UInt8]) { lines.add(bytes) }

  /// The next event. Nil if more bytes are needed. An event that is incomplete at the end of the stream is never
  /// returned.
  ///
  /// - Throws: `DispatchError` with `eventTooLarge`. Don't call it again after that.
  mutating func next() throws(DispatchError) -> ServerSentEvent? {
    while let line = try lines.next() {
      if !line.isEmpty {
        try take(line)
      } else if let event = takeEvent() {
        return event
      }
    }
    return nil
  }

  private mutating func take(_ line: ArraySlice<UInt8>) throws(DispatchError) {
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    // A line that begins with a colon is a comment: its field name is empty.
    let field = line[..<colon]
    var value = line[colon...].dropFirst()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: field, as: UTF8.self) {
    case "data": try takeData(value)
    case "event": name = String(decoding: value, as: UTF8.self)
    case "id" where !value.contains(0): id = String(decoding: value, as: UTF8.self)
    case "retry": takeRetry(value)
    default: break
    }
  }

  private mutating func takeData(_ value: ArraySlice<UInt8>) throws(DispatchError) {
    guard value.count <= maxEventBytes - data.count else {
      throw DispatchError(.eventTooLarge, phase: .receiving, detail: "data of more than \(maxEventBytes) bytes")
    }
    data += value
    data.append(UInt8(ascii: "\n"))
  }

  private mutating func takeRetry(_ value: ArraySlice<UInt8>) {
    guard !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return }
    let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
    reconnectionTime = min(.milliseconds(milliseconds), EventReconnection.maxRetry)
  }

  /// Handles a blank line. The identifier takes effect even if there is no data, and therefore no event.
  private mutating func takeEvent() -> ServerSentEvent? {
    lastEventID = id
    defer {
      data.removeAll(keepingCapacity: data.count <= 65536)
      name = ""
    }
    guard !data.isEmpty else { return nil }
    return ServerSentEvent(
      data: String(decoding: data.dropLast(), as: UTF8.self), name: name.isEmpty ? "message" : name, id: lastEventID)
  }
}
