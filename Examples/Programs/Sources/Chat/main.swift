// A chat: a long stream delivers what is said in a room, while short requests post messages. Only one of the two places
// at the server is for streams, so a message never waits for a stream to end.

import Headgate

struct Room: Sendable {
  let dispatcher: URLDispatcher
  let address: String

  /// The server did not accept a message.
  struct NotSaid: Error {
    let message: String
    let reason: String
  }

  /// Sends a message.
  func say(_ message: String) async throws {
    var request = try DispatchRequest("\(address)/messages", method: .post, body: RequestBody(message))
    request.deadline = .seconds(10)
    request.priority = .urgent  // somebody waits for it
    let response = try await dispatcher.data(for: request)
    guard response.statusCode == 201 else { throw NotSaid(message: message, reason: response.text) }
  }

  /// What is said in the room. If the connection ends, the next request names the last event that was received, so no
  /// event is missed or repeated.
  var events: ServerSentEvents { dispatcher.events(from: "\(address)/events") }
}

/// Says some lines, and returns those that were refused.
func speak(_ lines: [String], in room: Room) async throws -> [Room.NotSaid] {
  var refused: [Room.NotSaid] = []
  for line in lines {
    do {
      try await room.say(line)
    } catch let error as Room.NotSaid {
      refused.append(error)
    }
  }
  return refused
}

let server = try ChatServer()
let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 2, long: 1)))
let room = Room(dispatcher: dispatcher, address: server.address)

async let refused = speak(["hello", "is anyone here?", String(repeating: "ha", count: 500), "bye"], in: room)
for try await event in room.events {
  print("\(event.id): \(event.data)")
  if event.data == "bye" { break }  // ends the stream, and returns its permit
}
for error in try await refused {
  print("not said: \"\(error.message.prefix(8))…\", \(error.reason)")
}
print("the server left", server.refused, "connections unanswered")
await dispatcher.shutDown()
