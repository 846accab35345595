import Foundation
import Headgate
import HeadgateInstruments
import HeadgateOrigin
import Testing

// The code of docs/observing.md.

/// Reports requests that waited for longer than they ran.
struct SlowRequests: DispatchObserver {
  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    SlowRequest(start.request)
  }
}

final class SlowRequest: RequestObserver {
  let request: ObservedRequest

  init(_ request: ObservedRequest) { self.request = request }

  func requestEnded(_ report: RequestReport) {
    let waited = report.times.queued
    if waited > report.times.total / 2 { print("\(request) waited for \(waited)") }
  }
}

@Suite struct ObservingDocumentTests {
  @Test("the document's code works")
  func works() async throws {
    let dispatcher = try URLDispatcher(observers: [SlowRequests()])
    let observed = try URLDispatcher(observers: [MetricsObserver(), TracingObserver()])
    let server = try Origin()
    for one in [dispatcher, observed] {
      #expect(try await one.data(for: server.url("/bytes/10")).statusCode == 200)
      #expect(one.snapshot().description.hasPrefix("running 0 of "))
      await one.shutDown()
    }
    server.stop()
  }

  @Test("the document shows only code of this file")
  func document() throws {
    func lines(_ text: String) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let file = Set(lines(try String(contentsOf: here, encoding: .utf8)))
    let document = try String(contentsOf: root.appendingPathComponent("docs/observing.md"), encoding: .utf8)
    var isSwift = false
    var shown = 0
    for line in lines(document) {
      if line.hasPrefix("```") {
        isSwift = line == "```swift"
      } else if isSwift {
        shown += 1
        #expect(file.contains(line))
      }
    }
    #expect(shown > 10)
  }
}
