import HeadgateTesting
import Testing

@testable import HeadgateCommand

@Suite struct FileNameTests {
  @Test(arguments: [
    ("http://a/b/c.txt", "c.txt"),
    ("http://a/b/c.txt?x=1/2#y", "c.txt?x=1_2"),
    ("http://a/b/c.txt?", "c.txt"),
    ("http://a/?x=/y", "index.html?x=_y"),
    ("http://a/b#c?d", "b"),
    ("http://a/b?c=.part", "b?c=.part_"),
    ("http://a/b/c%20d.txt", "c d.txt"),
    ("http://a/b/%C3%A4", "ä"),
    ("http://a/b/100%", "100%"),
    ("http://a/b/%zz%4", "%zz%4"),
  ])
  func `The last part of the path, decoded`(url: String, name: String) {
    #expect(FileName.of(url) == name)
  }

  @Test(arguments: ["http://a/", "http://a", "http://a/b/"])
  func `Without a last part the name is index`(url: String) {
    #expect(FileName.of(url) == "index.html")
  }

  @Test(arguments: [
    ("http://a/..", "_."),
    ("http://a/.", "_"),
    ("http://a/%2e%2e", "_."),
    ("http://a/%2E%2E%2Fetc%2Fpasswd", "_._etc_passwd"),
    ("http://a/%2Fetc%2Fpasswd", "_etc_passwd"),
    ("http://a/.bashrc", "_bashrc"),
    ("http://a/a%00b", "a_b"),
    ("http://a/a%0Ab%1B%5B31m", "a_b_[31m"),
    ("http://a/a%C2%85b", "a_b"),
    ("http://a/a%E2%80%A8b", "a_b"),
    ("http://a/a%E2%80%AEb", "a_b"),
    ("http://a/.%CC%81hidden", "_\u{301}hidden"),
    ("http://a/%D8%80.part", "\u{600}.part_"),
    ("http://a/x.PART", "x.PART_"),
  ])
  func `No name leaves its folder, is hidden or breaks a terminal`(url: String, name: String) {
    #expect(FileName.of(url) == name)
  }

  @Test func `Invalid UTF-8 stays encoded`() {
    #expect(FileName.of("http://a/%FF%2F..") == "%FF%2F..")
  }

  @Test func `A name leaves room for a number and for the suffix .part`() {
    let name = FileName.of("http://a/" + String(repeating: "%C3%A4", count: 300) + ".txt")
    #expect(name.utf8.count <= FileName.longest)
    #expect(name.hasSuffix("ä.txt") && name.dropLast(4).allSatisfy { $0 == "ä" })
    let plain = FileName.of("http://a/" + String(repeating: "x", count: 300) + ".tar.gz?y=z")
    #expect(plain == String(repeating: "x", count: FileName.longest - 3) + ".gz")
    let other = FileName.of("http://a/" + String(repeating: "x", count: 300) + ".not an end")
    #expect(other == String(repeating: "x", count: FileName.longest))
  }

  @Test func `A long query is cut, and the name stays`() {
    let name = FileName.of("http://a/b.txt?" + String(repeating: "x", count: 300))
    #expect(name == "b.txt?" + String(repeating: "x", count: FileName.longest - 6))
  }

  @Test func `Equal names are numbered, and numbers that are taken are skipped`() {
    let names = FileNames(taken: ["a", "a.2"])
    #expect(["a", "b", "a", "b", "b.1", "a"].map(names.claim) == ["a.1", "b", "a.3", "b.1", "b.1.1", "a.4"])
  }

  @Test func `Frequent names are numbered without a gap`() {
    let names = FileNames()
    let claimed = (0..<100).flatMap { _ in [names.claim("a"), names.claim("b")] }
    #expect(claimed.filter { $0.hasPrefix("a") } == ["a"] + (1..<100).map { "a.\($0)" })
    #expect(Set(claimed).count == 200)
  }

  @Test func `A set of hashes behaves like a set`() {
    var hashes = NameHashes()
    var model: Set<Int> = []
    var random = SeededRandom(seed: 3)
    // Zero and one are the same to it, and there are so few bits that many hashes are equal or adjacent.
    for hash in (0..<20_000).map({ _ in
      Int.random(in: 2..<9_000, using: &random) << 50 | Int.random(in: 2..<4, using: &random) << 8
    }) {
      #expect(hashes.insert(hash) == model.insert(hash).inserted)
    }
    #expect(hashes.count == model.count)
  }

  @Test func `A name of combining marks is cut in one pass`() {
    let flags = String(repeating: "%F0%9F%87%A6", count: 5000)
    #expect(FileName.of("http://a/" + flags).utf8.count == FileName.longest)
  }

  @Test func `A character that is longer than a name is cut too`() {
    let marks = String(repeating: "%CC%81", count: 150)
    #expect(FileName.of("http://a/x" + marks).utf8.elementsEqual(("x" + String(repeating: "\u{301}", count: 119)).utf8))
    let name = FileName.of("http://a/x" + marks + ".htaccess")
    #expect(
      name.utf8.count == FileName.longest && name.utf8.starts(with: "x\u{301}".utf8) && name.hasSuffix(".htaccess"))
    // These characters combine with the character after them, here with the question mark.
    let prefixes = FileName.of("http://a/" + String(repeating: "%D8%80", count: 118) + "?\u{301}\u{301}\u{301}")
    #expect(prefixes.utf8.elementsEqual((String(repeating: "\u{600}", count: 118) + "?\u{301}").utf8))
  }

  @Test(arguments: [
    ("http://a/b%D8%80.txt", "b\u{600}", "txt"), ("http://a/b.txt?\u{301}c", "b?\u{301}c", "txt"),
    ("http://a/b.txt%D8%80?c", "b.txt\u{600}?c", ""), ("http://a/b%D8%80.x?c", "b\u{600}?c", "x"),
  ])
  func `A stem is the name without its extension`(url: String, stem: String, ext: String) {
    let parts = FileName.Parts(ofURL: url)
    #expect(parts.stem.utf8.elementsEqual(stem.utf8) && parts.ext == ext, "\(parts)")
  }

  @Test func `No name is that of an incomplete file`() {
    #expect(FileName.of("http://a/x.part") == "x.part_")
    let long = FileName.of("http://a/" + String(repeating: "x", count: FileName.longest - 5) + ".parts")
    #expect(!long.hasSuffix(".part"))
  }
}
