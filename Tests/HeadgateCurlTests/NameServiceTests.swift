import Dispatch
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCurl

/// Look-ups on threads, with a resolver that the test controls.
@Suite struct NameServiceTests {
  /// A resolver whose answers the test releases.
  private final class Resolver: Sendable {
    let asked = BlockingQueue<String>()
    // The library's own waits refuse to block a thread that others depend on.
    private let answers = DispatchSemaphore(value: 0)

    func lookUp(_ name: String) -> NameAnswer {
      try? asked.put(name)
      answers.wait()
      return .addresses(["192.0.2.1"])
    }

    func answer(_ count: Int = 1) { for _ in 0..<count { answers.signal() } }
  }

  @Test func `Tasks that wait for one name share its look-up, and the answer is known then`() async throws {
    let resolver = Resolver()
    let service = NameService(lookUp: resolver.lookUp)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { _ = await service.waitForAnswer("a.test") } }
      group.addTask {
        #expect(await offTheCooperativeThreads { try? resolver.asked.take() } == "a.test")
        resolver.answer()
      }
    }
    #expect(service.answer(for: "a.test") == .addresses(["192.0.2.1"]))
    #expect(await service.waitForAnswer("a.test"))
    #expect(resolver.asked.count == 0)
  }

  @Test func `No more names are looked up at once than there are threads`() async throws {
    let resolver = Resolver()
    let service = NameService(lookUp: resolver.lookUp)
    let count = NameService.atOnce + 10
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<count { group.addTask { _ = await service.waitForAnswer("\(number).test") } }
      group.addTask {
        await offTheCooperativeThreads {
          var asked: Set<String> = []
          while asked.count < NameService.atOnce, let name = try? resolver.asked.take() { asked.insert(name) }
          // All threads are in the resolver. Another name is looked up only when one returns.
          #expect(resolver.asked.count == 0)
          resolver.answer(count)
        }
      }
    }
    for number in 0..<count { #expect(service.answer(for: "\(number).test") != nil) }
  }

  @Test func `Tasks resume when waiting is stopped, and the look-up does no harm later`() async throws {
    let resolver = Resolver()
    let service = NameService(lookUp: resolver.lookUp)
    async let waiting = service.waitForAnswer("a.test")
    #expect(await offTheCooperativeThreads { try? resolver.asked.take() } == "a.test")
    service.stopWaiting()
    #expect(await waiting)
    #expect(await service.waitForAnswer("b.test"))
    resolver.answer()
  }

  @Test func `A task waits no longer than a look-up may take, and a late answer is kept`() async throws {
    let resolver = Resolver()
    let service = NameService(lookUp: resolver.lookUp)
    #expect(await !service.waitForAnswer("a.test", within: .milliseconds(1)))
    async let later = service.waitForAnswer("a.test")
    resolver.answer()
    #expect(await later)
    #expect(service.answer(for: "a.test") == .addresses(["192.0.2.1"]))
  }

  @Test func `The system's resolver distinguishes a missing name from one with addresses`() {
    #expect(NameLookup.answer(for: "127.0.0.1") == .addresses(["127.0.0.1"]))
    // Reserved by RFC 6761. Without a network the result may be unknown.
    guard case .failed(let failure) = NameLookup.answer(for: "nowhere.invalid") else {
      Issue.record("a name below invalid has an address")
      return
    }
    #expect(failure.detail.hasPrefix("Could not resolve host: nowhere.invalid ("))
  }

  @Test(arguments: [
    ("http://example.com/", "example.com"), ("http://192.0.2.1/", nil), ("http://[::1]/", nil),
    ("http://localhost/", nil), ("http://a.localhost:80/", nil),
    ("http://B%C3%BCcher.example/", "xn--bcher-kva.example"),
    ("http+unix://%2Frun%2Fa.sock/", nil), ("http://1e100.net/", "1e100.net"),
  ])
  func `Addresses, sockets and this machine's own names need no look-up`(url: String, name: String?) throws {
    #expect(try DispatchRequest(url).endPoint.nameToLookUp == name)
  }
}
