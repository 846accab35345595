import HTTPTypes
import Headgate
import HeadgateOrigin
import HeadgateTesting
import Testing

/// docs/interceptors.md shows no code but this.
@Suite struct InterceptorsDocumentTests {
  @Test("a token for the requests of one end-point")
  func tokens() async throws {
    let tokens = BearerTokens(for: try EndPoint("https://api.example.com")) { fetch in
      let response = try await fetch.send(DispatchRequest("https://login.example.com/token", method: .post))
      return BearerToken(response.text, validFor: .seconds(3600))
    }
    let dispatcher = try URLDispatcher(interceptors: [tokens])
    tokens.setToken(BearerToken("of somebody else"))
    tokens.setToken(nil)
    #expect(tokens.token == nil)
    await dispatcher.shutDown()
  }

  @Test("a password that is not sent, and an answer to a real challenge")
  func digest() async throws {
    let password = "secret"
    let credentials = DigestCredentials(user: "ada", password: password, for: try EndPoint("http://camera.example"))
    let dispatcher = try URLDispatcher(interceptors: [credentials])
    await dispatcher.shutDown()

    let server = try Origin(
      script: OriginScript { request in
        if request.header("Authorization")?.contains("uri=\"/x?y=%20\"") == true { return .text("in") }
        var answer = OriginAnswer.text("out", status: 401)
        answer.headers = [OriginHeader("WWW-Authenticate", "Digest realm=r, nonce=n, qop=auth")]
        return answer
      })
    let own = DigestCredentials(user: "ada", password: password) { !$0.isSecure && $0.endPoint.host == "127.0.0.1" }
    let asking = try URLDispatcher(interceptors: [own])
    #expect(try await asking.data(for: server.url("/x?y=%20")).text == "in")
    #expect(server.counts().received == 2)
    await asking.shutDown()
  }

  actor SigningKey {
    private var generation = 1

    func sign(_ text: String) throws -> String { "\(generation) \(text.utf8.count)" }

    func renew() -> Bool {
      generation += 1
      return true
    }
  }

  struct Signature: RequestInterceptor {
    let key: SigningKey

    func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
      request.headerFields[.authorization] = try await key.sign(request.method.rawValue + " " + request.url)
    }

    func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
      response.statusCode == 403 && interception.resends == 0
    }

    func review(
      _ response: InterceptedResponse, _ interception: Interception
    ) async throws -> InterceptorAnswer {
      await key.renew() ? .resend : .deliver
    }
  }

  @Test("an interceptor that signs requests, and renews its key when it is refused")
  func signature() async throws {
    let server = try Origin(
      script: OriginScript { request in
        request.header("Authorization")?.hasPrefix("2 ") == true ? .text("in") : .text("out", status: 403)
      })
    let dispatcher = try URLDispatcher(interceptors: [Signature(key: SigningKey())])
    #expect(try await dispatcher.data(for: server.url("/x")).text == "in")
    #expect(server.counts().received == 2)
    await dispatcher.shutDown()
    server.stop()
  }

  @Test("the document shows only code that is compiled here")
  func document() throws {
    let shown = try DocumentedCode("interceptors.md")
    #expect(try shown.lines(missingIn: #filePath) == [])
    #expect(shown.lines.count > 20)
  }
}
