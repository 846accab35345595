// Fetches forty customers from an API that allows four requests at a time and fifty a second. A customer that can't be
// fetched does not stop the others.

import Headgate
import HeadgateFlow

struct Customer: Decodable {
  let id: Int
  let name: String
}

/// A response without a customer.
struct Refusal: Error {
  let status: Int
}

struct CustomerAPI: Sendable {
  let dispatcher: URLDispatcher
  let address: String

  func customer(_ id: Int) async throws -> Customer {
    var request = try DispatchRequest("\(address)/customers/\(id)")
    request.headerFields[.accept] = "application/json"
    request.timeout = .seconds(10)  // from the permit, without the queue
    request.deadline = .seconds(60)  // from the submission, with the queue
    request.retry = RetryPolicy(attempts: 4)
    let response = try await dispatcher.data(for: request)
    guard response.statusCode == 200 else { throw Refusal(status: response.statusCode) }
    return try response.decode(Customer.self)
  }
}

let server = try CustomerServer()
let limits = try GateLimits(endPoint: EndPointLimits(requests: 4, rates: [.spaced(50, per: .seconds(1))]))
let dispatcher = try URLDispatcher(limits: limits)
let api = CustomerAPI(dispatcher: dispatcher, address: server.address)

let ids = Array(1...40)
let start = ContinuousClock.now
let results = try await allSettled(ids) { id in try await api.customer(id) }
let elapsed = ContinuousClock.now - start

var names: [String] = []
for (id, result) in zip(ids, results) {
  switch result {
  case .success(let customer): names.append(customer.name)
  case .failure(let refusal as Refusal): print("customer \(id): status \(refusal.status)")
  case .failure(let error as DispatchError): print("customer \(id): \(error.code) after \(error.waited + error.ran)")
  case .failure(is DecodingError): print("customer \(id): not the JSON of a customer")
  case .failure(let error): print("customer \(id): \(error)")
  }
}
print("fetched", names.count, "customers, the last is", names.last ?? "missing")
print("forty starts at fifty in a second took at least 780 ms:", elapsed >= .milliseconds(770))
print("the server deferred", server.deferred, "requests and left", server.refused, "connections unanswered")
await dispatcher.shutDown()
