import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

/// Cookies, which are kept only with a jar.
@Suite struct CookieJarTests {
  private let origin: Origin

  init() throws {
    // Sets a cookie named after the path, and answers with the received cookies.
    origin = try Origin(
      endPoints: 2,
      script: OriginScript { request in
        guard request.path.hasPrefix("/cookie") else { return nil }
        var answer = OriginAnswer.text(request.header("Cookie") ?? "none")
        answer.headers = [OriginHeader("Set-Cookie", "c\(request.path.dropFirst(7))=1; Path=/")]
        return answer
      })
  }

  private func dispatcher(_ cookies: CookieJar?, loops: Int = 1) throws -> URLDispatcher {
    var configuration = CurlTransport.Configuration()
    configuration.cookies = cookies
    return URLDispatcher(transport: try CurlTransport(configuration: configuration, loops: loops))
  }

  private func text(_ dispatcher: URLDispatcher, _ path: String, endPoint: Int = 0) async throws -> String {
    try await dispatcher.data(for: origin.url(path, endPoint: endPoint)).text
  }

  @Test("without a jar no cookie is kept or sent")
  func none() async throws {
    let dispatcher = try dispatcher(nil)
    for _ in 0..<3 { #expect(try await text(dispatcher, "/cookie1") == "none") }
    await dispatcher.shutDown(.drain)
  }

  @Test(
    "a jar returns cookies on every loop and to every transport that shares it; they are gone when it is emptied")
  func jar() async throws {
    let jar = try CookieJar()
    let (first, second) = (try dispatcher(jar, loops: 3), try dispatcher(jar))
    #expect(try await text(first, "/cookie1") == "none")
    // Cookies do not depend on ports.
    #expect(try await text(first, "/cookie2", endPoint: 1) == "c1=1")
    #expect(Set(try await text(second, "/cookie1").split(separator: "; ")) == ["c1=1", "c2=1"])
    #expect(jar.lines.count == 2)
    #expect(jar.lines.allSatisfy { $0.hasPrefix("127.0.0.1\tFALSE\t/\tFALSE\t0\tc") })
    jar.removeAll()
    #expect(try await text(second, "/cookie3") == "none")
    await first.shutDown(.drain)
    await second.shutDown(.drain)
  }

  @Test("a jar that many requests and the program use at once, on several threads, loses nothing", arguments: [1, 2])
  func contended(loops: Int) async throws {
    let jar = try CookieJar()
    let dispatchers = try (0..<loops).map { _ in try dispatcher(jar, loops: loops) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          jar.add("127.0.0.1\tFALSE\t/\tFALSE\t0\town\t\(number)")
          _ = try await text(dispatchers[number % loops], "/cookie\(number % 40)", endPoint: number % 2)
          if number % 10 == 0 { _ = jar.lines }
        }
      }
      try await group.waitForAll()
    }
    #expect(jar.lines.count == 41)
    for dispatcher in dispatchers { await dispatcher.shutDown(.drain) }
  }

  @Test("a jar's file is in Netscape format, and its contents are read again; invalid lines are skipped")
  func files() throws {
    let folder = try TemporaryFolder()
    let jar = try CookieJar()
    jar.add("Set-Cookie: a=1; Domain=example.com; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT")
    jar.add("h.example\tFALSE\t/x\tTRUE\t0\tb\t2\n")
    for line in ["", "# a comment", "ALL", "FLUSH", "RELOAD", "nonsense"] { jar.add(line) }
    #expect(jar.lines.count == 2)
    try jar.save(to: folder.path + "/jar")
    #expect(folder.names == ["jar"])
    let again = try CookieJar(file: folder.path + "/jar")
    #expect(Set(again.lines) == Set(jar.lines))
    #expect(again != jar)
    for body in [
      { _ = try CookieJar(file: folder.path + "/none") }, { try jar.save(to: folder.path + "/no/jar") },
    ] as [() throws -> Void] {
      let error = #expect(throws: DispatchError.self) { try body() }
      #expect(error?.code == .fileFailed)
    }
  }
}
