import Foundation
import Headgate
import HeadgateOrigin
import Testing

/// The code of the article on the first requests.
@Suite struct FirstDispatchTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  @Test("one, many, to a file, and the errors")
  func requests() async throws {
    let server = try Origin()
    let (url, urls) = (server.url("/bytes/3"), (1...20).map { server.url("/bytes/\($0)") })
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("page").path

    let dispatcher = try URLDispatcher(perHost: 4)
    let response = try await dispatcher.data(for: url)
    print(response.statusCode, response.body.count, response.text)
    let total = try await withThrowingTaskGroup(of: Int.self) { group in
      for url in urls {
        group.addTask { try await dispatcher.data(for: url).body.count }
      }
      return try await group.reduce(0, +)
    }
    #expect(total == 210 && server.counts().peakSockets <= 4)
    let file = try await dispatcher.download(for: url, to: .replacing(path))
    print(file.bytes, "bytes in", file.path ?? "no file")
    #expect(printed.text.hasSuffix("3 bytes in \(path)"))
    await dispatcher.shutDown()
  }

  @Test("a method, a body, time limits, and errors")
  func details() async throws {
    let server = try Origin()
    let url = server.url("/sink")
    let dispatcher = try URLDispatcher()
    var request = try DispatchRequest(url, method: .post, body: RequestBody("hello"))
    request.headerFields[.accept] = "text/plain"
    request.timeout = .seconds(10)
    request.deadline = .seconds(60)
    let answer = try await dispatcher.data(for: request)
    #expect(answer.text == "5")
    await dispatcher.shutDown()
    do throws(DispatchError) {
      let page = try await dispatcher.data(for: request)
      print(page.text)
    } catch {
      print(error.code, "after", error.waited, "in the queue and", error.ran, "at the server")
    }
    #expect(printed.text.hasPrefix("shut_down after "))
  }
}
