/// An event of a server-sent event stream.
public struct ServerSentEvent: Hashable, Sendable {
  /// The text: the values of the `data` fields, joined by line feeds.
  public let data: String

  /// The type: the value of the `event` field, or `message` if there is none.
  public let name: String

  /// The last identifier that the server has set, with this event or an earlier one. Empty if it has set none.
  public let id: String

  /// Creates an event, for tests.
  public init(data: String, name: String = "message", id: String = "") {
    self.data = data
    self.name = name
    self.id = id
  }
}
