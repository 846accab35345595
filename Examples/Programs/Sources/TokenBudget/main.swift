// Sends a batch of prompts to a language model whose provider allows 10,000 tokens a minute. (Here, a minute
// lasts a second, so that the example ends soon.) The cost of a prompt is known only afterwards: its request starts
// with an estimate, and is settled with the number in the response.

import Headgate
import HeadgateFlow

struct Reply: Decodable {
  struct Usage: Decodable {
    let totalTokens: Int
  }
  let text: String
  let usage: Usage
}

struct Prompt: Encodable {
  let prompt: String
  let maxTokens: Int

  /// An upper estimate: about four bytes of the prompt are a token, and the answer may be as long as we allow.
  var estimatedTokens: Int { prompt.utf8.count / 4 + 1 + maxTokens }
}

/// A response without a completion.
struct Refusal: Error {
  let status: Int
}

struct Model: Sendable {
  let dispatcher: URLDispatcher
  let address: String

  func complete(_ prompt: Prompt) async throws -> Reply {
    var request = try DispatchRequest(address, method: .post, body: RequestBody(json: prompt))
    request.weights = ["tokens": prompt.estimatedTokens]
    request.retry = RetryPolicy(attempts: 5)
    request.retry?.repeats = .all  // a POST, but asking a second time does no harm
    let response = try await dispatcher.data(for: request)
    guard response.statusCode == 200 else { throw Refusal(status: response.statusCode) }
    let reply = try response.decode(Reply.self)
    response.settle(["tokens": reply.usage.totalTokens])
    return reply
  }
}

let provider = try Provider()
let budget = try Budget("tokens", units: 10_000, per: .seconds(1))
let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 8, budgets: [budget])))
let model = Model(dispatcher: dispatcher, address: provider.address)

var prompts = (1...30).map { Prompt(prompt: "Summarize chapter \($0).", maxTokens: 1_000) }
prompts.append(Prompt(prompt: "Write the whole book.", maxTokens: 100_000))

let results = try await allSettled(prompts) { prompt in try await model.complete(prompt) }
var tokens = 0
var answers = 0
for (prompt, result) in zip(prompts, results) {
  switch result {
  case .success(let reply):
    answers += 1
    tokens += reply.usage.totalTokens
  case .failure(let error as DispatchError) where error.code == .tooHeavy:
    print("\"\(prompt.prompt)\" needs \(prompt.estimatedTokens) tokens, more than a minute has")
  case .failure(let error):
    print("\"\(prompt.prompt)\" has no answer: \(error)")
  }
}
print(
  "\(answers) answers cost \(tokens) tokens, of \(prompts.dropLast().map(\.estimatedTokens).reduce(0, +)) estimated")
print("the provider counted \(provider.counted) and refused \(provider.refused) requests")
await dispatcher.shutDown()
