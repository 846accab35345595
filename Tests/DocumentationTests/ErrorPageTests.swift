import Headgate
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import Testing

/// The code of docs/errors.md.
@Suite struct ErrorPageTests {
  private let printed = Printed()
  private func show(_ text: String) { printed.add([text]) }
  private func log(_ word: String, _ text: String) { printed.add(["\(word) in a log"]) }
  private func later(_ request: DispatchRequest, _ reason: WaitReason?) { printed.add(["later"]) }

  @Test("the error of a request", arguments: [true, false])
  func request(hasTime: Bool) async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport { $0.respond(body: "text") })
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var request = try DispatchRequest("http://errors.example/")
    request.deadline = hasTime ? nil : .zero
    do throws(DispatchError) {
      let response = try await dispatcher.data(for: request)
      show(response.text)
    } catch {
      switch error.code {
      case .deadlineExceeded, .refusing, .unreachable: later(request, error.waitReason)
      case .cancelled, .shutDown: break
      default: log(error.codeName, "\(error)")
      }
    }
    #expect(printed.text == (hasTime ? "text" : "later"))
    await dispatcher.shutDown()
  }

  @Test("the error inside a FlowError", arguments: [200, 404])
  func inside(status: Int) async throws {
    let transport = ScriptedTransport { $0.respond($0.request.url.hasSuffix("2") ? status : 200) }
    let dispatcher = URLDispatcher(transport: transport)
    let urls = (0..<3).map { "http://errors.example/\($0)" }
    do {
      let pages = try await allSucceed(urls) { url in try await dispatcher.data(for: url).successful() }
      show("\(pages.count) pages")
    } catch let error as FlowError where error.failure is StatusError {
      show("input \(error.inputs[0]) has no page")
    } catch let error as any HeadgateError {
      log(error.codeName, "\(error)")
    }
    #expect(printed.text == (status == 200 ? "3 pages" : "input 2 has no page"))
    await dispatcher.shutDown()
  }
}
