/// An event that a server has sent over a stream of events.
public struct ServerSentEvent: Hashable, Sendable {
  /// Its text: the values of its `data` fields, joined by line feeds.
  public let data: String

  /// Its kind: the value of its `event` field, `message` without one.
  public let name: String

  /// The identifier that the server has set last, with this event or before it; empty if it has set none.
  public let id: String

  /// An event, as a test may want to make one.
  public init(data: String, name: String = "message", id: String = "") {
    self.data = data
    self.name = name
    self.id = id
  }
}
