import HeadgateOrigin
import Synchronization

/// The server of this example, on the local machine: a room whose messages are server-sent events.
final class ChatServer: Sendable {
  private let origin: Origin

  var address: String { "http://127.0.0.1:\(origin.port)" }
  var refused: Int { origin.counts().refused }

  init() throws {
    let messages = Messages()
    origin = try Origin(
      script: OriginScript(connectionLimit: 2) { request in
        switch (request.method, request.path) {
        case ("POST", "/messages"):
          return .reading { body in
            guard body.count <= 200 else { return .text("too long", status: 422) }
            messages.add(String(decoding: body, as: UTF8.self))
            return .text("said", status: 201)
          }
        case ("GET", "/events"):
          var answer = OriginAnswer.text(messages.events(after: request.header("Last-Event-ID")))
          answer.headers = [OriginHeader("Content-Type", "text/event-stream")]
          answer.delay = .milliseconds(50)
          return answer
        default: return nil
        }
      })
  }
}

private final class Messages: Sendable {
  private let all = Mutex<[String]>([])

  func add(_ message: String) { all.withLock { $0.append(message) } }

  /// The events after the last one that a client has seen, and how soon it may reconnect.
  func events(after last: String?) -> String {
    let seen = last.flatMap { Int($0) } ?? 0
    let new = all.withLock { Array($0.enumerated().dropFirst(seen)) }
    return new.reduce("retry: 10\n\n") { $0 + "id: \($1.offset + 1)\ndata: \($1.element)\n\n" }
  }
}
