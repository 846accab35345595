import HTTPTypes
import Headgate
import HeadgateFlow
import HeadgateOrigin
import Synchronization
import Testing

struct Prompt: Encodable, Sendable {
  let id: Int
  let text: String
  let maxTokens: Int

  private enum CodingKeys: String, CodingKey {
    case text = "prompt"
    case maxTokens = "max_tokens"
  }

  /// More than it costs: four bytes are about a token, and the answer may be as long as we allow.
  var estimate: Int { text.utf8.count / 4 + 1 + maxTokens }
}

struct Reply: Decodable, Sendable {
  struct Usage: Decodable {
    let totalTokens: Int

    private enum CodingKeys: String, CodingKey { case totalTokens = "total_tokens" }
  }

  let text: String
  let usage: Usage
}

struct LanguageModel: Sendable {
  let dispatcher: URLDispatcher
  let url: String
  let key: String

  init(url: String, key: String) throws {
    let tokens = try Budget("tokens", units: 90_000, per: .seconds(60))
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: 16, rates: [Rate("500/min")], budgets: [tokens]),
      pauses: PausePolicy(patience: .seconds(15 * 60)))
    dispatcher = try URLDispatcher(limits: limits)
    (self.url, self.key) = (url, key)
  }

  func complete(_ prompt: Prompt) async throws -> Reply {
    var request = try DispatchRequest(url, method: .post, body: RequestBody(json: prompt))
    request.headerFields[.authorization] = "Bearer \(key)"
    request.weights = ["tokens": prompt.estimate]
    request.timeout = .seconds(120)
    request.retry = RetryPolicy(attempts: 4)
    let response = try await dispatcher.data(for: request).successful()
    let reply = try response.decode(Reply.self)
    response.settle(["tokens": reply.usage.totalTokens])
    return reply
  }

  /// Calls `save` for each prompt, in the order in which the answers arrive.
  func completeAll(_ prompts: [Prompt], save: (Prompt, Result<Reply, any Error>) throws -> Void) async throws {
    let answers = prompts.mapConcurrently(limit: 500, yielding: .asCompleted) { prompt in
      do { return (prompt, Result<_, any Error>.success(try await complete(prompt))) } catch {
        return (prompt, .failure(error))
      }
    }
    for try await (prompt, result) in answers { try save(prompt, result) }
  }
}

/// The recipe for a batch of prompts.
@Suite struct RecipeModelTests {
  @Test("each prompt has its answer, a prompt that is too long its error, and the budget knows the true tokens")
  func batch() async throws {
    let server = try Origin(
      script: OriginScript { request in
        guard request.header("Authorization") == "Bearer secret" else { return .text("who?", status: 401) }
        return .reading { _ in .text(#"{"text": "…", "usage": {"total_tokens": 7}}"#) }
      })
    let model = try LanguageModel(url: server.url("/v1/completions"), key: "secret")
    var prompts = (1...20).map { Prompt(id: $0, text: "Summarize chapter \($0).", maxTokens: 100) }
    prompts.append(Prompt(id: 21, text: "Write the whole book.", maxTokens: 100_000))
    var (tokens, failures) = ([Int: Int](), [Int: String]())
    try await model.completeAll(prompts) { prompt, result in
      switch result {
      case .success(let reply): tokens[prompt.id] = reply.usage.totalTokens
      case .failure(let error): failures[prompt.id] = (error as? DispatchError)?.codeName
      }
    }
    #expect(tokens.count == 20 && tokens.values.allSatisfy { $0 == 7 })
    #expect(failures == [21: "too_heavy"])
    await model.dispatcher.shutDown()
  }
}
