import Headgate
import Hummingbird

/// Routes whose answers come from another server, within the limits of that server.
struct WeatherRoutes: Sendable {
  let dispatcher: URLDispatcher
  /// The address of the other server.
  let source: String

  func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.get("weather/:city") { _, context in
      try await weather(in: context.parameters.require("city"))
    }
    return router
  }

  private func weather(in city: String) async throws -> String {
    let response = try await ask("\(source)/cities/\(city)")
    switch response.statusCode {
    case 200: return response.text
    case 404: throw HTTPError(.notFound, message: "no weather for \(city)")
    default: throw HTTPError(.badGateway, message: "the weather's server answers \(response.statusCode)")
    }
  }

  /// The response of the other server. Its failures become statuses of this server.
  private func ask(_ url: String) async throws(HTTPError) -> DispatchResponse {
    do throws(DispatchError) {
      var request = try DispatchRequest(url)
      request.deadline = .seconds(5)  // our own client does not wait longer
      return try await dispatcher.data(for: request)
    } catch {
      switch error.code {
      case .deadlineExceeded, .refused, .shutDown: throw HTTPError(.serviceUnavailable, message: "try again later")
      case .invalidURL: throw HTTPError(.badRequest, message: "not the name of a city")
      default: throw HTTPError(.badGateway, message: "the weather's server can't be reached: \(error.code)")
      }
    }
  }
}
