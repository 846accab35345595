import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Which URLs of a list are fetched: each once, and those of a part.
@Suite struct ListSelectionTests {
  @Test(arguments: [
    ("HTTP://Example.COM:80", "http://example.com/"), ("https://a:443/x?y", "https://a/x?y"),
    ("http://a/x", "http://a/x"), ("http://Ada:Secret@A/x", "http://Ada:Secret@a/x"),
    ("http://a#top", "http://a/#top"), ("http://[::1]:80/", "http://[::1]/"),
  ])
  func `The same URL in different spellings`(url: String, canonical: String) throws {
    #expect(try URLDigest.canonical(url) == canonical)
    #expect(try URLDigest(url) == URLDigest(canonical))
  }

  @Test func `URLs that servers may distinguish stay distinct`() throws {
    let urls = [
      "http://a/", "https://a/", "http://a:81/", "http://a/x", "http://a/x/", "http://a/X", "http://a/%78",
      "http://a/x?", "http://a/x?b&c", "http://a/x?c&b", "http://a/x#1", "http://a/x#2", "http://b@a/x",
      "http://b:c@a/x", "http://a//x", "http://www.a/x",
    ]
    #expect(Set(try urls.map { try URLDigest($0) }).count == urls.count)
  }

  @Test func `A part is I of N`() throws {
    #expect(try Shard("1/1").count == 1)
    #expect(try Shard("3/3").number == 3)
    for text in ["0/3", "4/3", "a/b", "1", "1/", "/3", "1/3/3", "-1/3", "+1/3", "1 /3", "1/0", "1/1000001", ""] {
      #expect(throws: OptionError.self) { try Shard(text) }
    }
  }

  @Test func `Parts are the same on every machine, and together they are the whole list`() throws {
    let urls = (0..<300).map { "http://a\($0 % 7).example/\($0)" }
    let parts = try (1...3).map { number in
      let shard = try Shard("\(number)/3")
      return try urls.filter { shard.has(try URLDigest($0)) }
    }
    #expect(parts.joined().sorted() == urls.sorted())
    #expect(parts.allSatisfy { $0.count > 70 })
    // By the first eight bytes of SHA-256: printf %s http://a/ | sha256sum.
    #expect(try URLDigest("http://a/").high == 0x282a35d7a0da6ae4)
    #expect(try URLDigest("HTTP://A").high == URLDigest("http://a/").high)
  }

  @Test func `A repeated URL is fetched once, and counted`() async throws {
    let folder = try TemporaryFolder()
    let origin = try Origin()
    let twice = origin.url("/bytes/1").replacing("http://", with: "HTTP://")
    let list = [origin.url("/bytes/1"), twice, origin.url("/bytes/2"), "foo", "foo", origin.url("/bytes/1")]
    let fetched = try await fetch(
      "--dedupe", "-P", "@/out", "-i", "-", origin.url("/bytes/2"), in: folder, input: list.joined(separator: "\n"))
    #expect(folder.names(in: "out") == ["1", "2"])
    #expect(origin.counts().received == 2)
    #expect(fetched.messages.contains("ok 2  failed 2  excluded 3  "))
  }

  @Test func `Bodies on the standard output keep their order without repeated URLs`() async throws {
    let folder = try TemporaryFolder()
    let origin = try Origin()
    let list = [3, 1, 3, 2, 1].map { origin.url("/bytes/\($0)") }.joined(separator: "\n")
    let fetched = try await fetch("--dedupe", "-i", "-", in: folder, input: list)
    #expect(fetched.status == 0)
    #expect(fetched.output == [3, 1, 2].flatMap { (0..<$0).map(OriginAnswer.patternByte) })
  }

  @Test func `Each part of a list is fetched by one machine`() async throws {
    let origin = try Origin()
    let urls = (0..<30).map { origin.url("/bytes/\($0)") }
    var names: [String] = []
    for number in 1...3 {
      let folder = try TemporaryFolder()
      let list = (number == 2 ? urls.reversed() : urls).joined(separator: "\n")
      let fetched = try await fetch("--shard", "\(number)/3", "-P", "@/out", "-i", "-", in: folder, input: list)
      let own = folder.names(in: "out")
      #expect(fetched.status == 0)
      #expect(fetched.messages.contains("ok \(own.count)  failed 0  in other parts \(30 - own.count)  "))
      names += own
    }
    #expect(names.sorted() == (0..<30).map { "\($0)" }.sorted())
  }

  @Test func `A set of digests reports new ones`() throws {
    var set = DigestSet()
    let digests = try (0..<1000).map { try URLDigest("http://a/\($0)") }
    let (first, second) = (digests.map { set.insert($0) }, digests.map { set.insert($0) })
    #expect(!first.contains(false) && !second.contains(true))
  }
}
