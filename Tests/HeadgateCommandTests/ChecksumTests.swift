import Foundation
import HeadgateDispatch
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Bodies are compared with checksums before their files get names.
@Suite struct ChecksumTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func sum(_ count: Int) -> Checksum {
    var hash = SHA256()
    hash.update((0..<count).map(OriginAnswer.patternByte))
    return Checksum(hash)
  }

  @Test func `C08 Lines have the formats of sha256sum, including the one with tags`() {
    let sum = String(repeating: "ab", count: 32)
    for (line, name) in [
      ("\(sum)  x", "x"), ("\(sum) *x y", "x y"), ("\(sum)  ./a/x", "a/x"), ("\\\(sum)  a\\\\n\\nb", "a\\n\nb"),
      ("SHA256 (x (1) = y) = \(sum)", "x (1) = y"), ("\\\(sum)  a\\n\u{301}\\\\\u{301}", "a\n\u{301}\\\u{301}"),
      ("SHA256 (\u{301}) = \(sum)", "\u{301}"), ("\(sum) x", "x"), ("\(sum)\tx", "x"), ("  \(sum)  x\r", "x"),
      ("\(sum)  a #1.iso ", "a #1.iso "), ("\(sum)  #1", "#1"), ("\(sum)  a\tb", "a\tb"), ("\(sum)   x", " x"),
      ("\\SHA256 (a\\nb) = \(sum)", "a\nb"), ("SHA2-256(a)= \(sum)", "a"), ("SHA256(a b)= \(sum)", "a b"),
    ] {
      let read = ChecksumLine(line.utf8)
      #expect(read?.name == name && read?.checksum == Checksum(sum), "\(line)")
    }
    #expect(ChecksumLine(Array("\(sum)  caf".utf8) + [0xE9])?.name == "caf\u{FFFD}")
    for line in [
      "", sum, "\(sum) ", "\(sum)x  y", "00  x", "SHA256 (x) = 00", "SHA256 (x", "SHA256 () = \(sum)",
      "MD5 (x) = \(sum)", "SHA512 (x) = \(sum)\(sum)", "\(sum)\(sum)  x", "- \(sum)  x",
    ] {
      #expect(ChecksumLine(line.utf8) == nil, "\(line)")
    }
  }

  @Test func `A checksum applies to a file name, a URL, or the end of a path`() throws {
    let sums = (0..<5).map { sum($0) }
    try folder.write(
      """
      \(sums[0])  x.1
      \(sums[1])  http://a/d/x
      \(sums[2])  d/x
      \(sums[3])  x
      \(sums[4])  ä b
      \(sums[0])  v2/x

      """, to: "sums")
    let table = try ChecksumTable(files: [folder.file("sums")])
    #expect(table.of("http://b/x", named: "x.1") == sums[0])
    #expect(table.of("http://a/d/x", named: nil) == sums[1])
    #expect(table.of("http://b/c/d/x?q", named: "x?q") == sums[2])
    #expect(table.of("http://b/e/x", named: "x.2") == sums[3])
    #expect(table.of("http://b/v2/x", named: "x") == sums[0])
    #expect(table.of("http://b/%C3%A4%20b", named: nil) == sums[4])
    #expect(table.of("http://b/ex", named: nil) == nil)
    #expect(table.of("http://b/", named: nil) == nil)
    #expect(ChecksumTable().of("http://b/x", named: nil) == nil)
  }

  @Test func `C09 Signatures, comments and other checksums are passed over, and counted`() async throws {
    let text = """
      -----BEGIN PGP SIGNED MESSAGE-----
      Hash: SHA256

      # 5: 5 bytes
      SHA256 (5) = \(sum(5))
      MD5 (5) = 0123456789abcdef0123456789abcdef
      \(sum(6)) 6
      -----BEGIN PGP SIGNATURE-----

      iQIzBAEBCAAdFiEE
      =abcd
      -----END PGP SIGNATURE-----
      """
    try folder.write(text, to: "sums")
    let arguments = ["-P", "@/out", "--checksum-file", "@/sums", origin.url("/bytes/5"), origin.url("/bytes/6")]
    let fetched = try await FetchTrial(arguments, in: folder).finish()
    #expect(fetched.messages.contains("verified 2"), "\(fetched.messages)")
    #expect(fetched.messages.contains("/sums: lines without a SHA-256 checksum: 7, the first is line 1\n"))
  }

  @Test(arguments: ["foo\n", "00  x\n", "SUM  x\nTWO  x\n"])
  func `A file without checksums, or with two for one name, is refused`(text: String) throws {
    try folder.write(
      text.replacing("SUM", with: "\(sum(1))").replacing("TWO", with: "\(sum(2))"), to: "sums")
    let problem = #expect(throws: FetchProblem.self) { try ChecksumTable(files: [folder.file("sums")]) }
    #expect(problem?.status == .usage && problem?.description.contains("/sums: line ") == true)
    let missing = #expect(throws: FetchProblem.self) { try ChecksumTable(files: [folder.file("none")]) }
    #expect(missing?.status == .file)
  }

  @Test(arguments: [[], ["--session", "@/run"]])
  func `A body that does not match is an error and leaves no file`(session: [String]) async throws {
    try folder.write("\(sum(5))  5\n\(sum(7))  6\n\(sum(400_001))  400000\n", to: "sums")
    let urls = [5, 6, 400_000, 9].map { origin.url("/bytes/\($0)") }
    let arguments = ["-P", "@/out", "--checksum-file", "@/sums", "--log", "@/log"] + session
    let fetched = try await FetchTrial(arguments + urls, in: folder).finish()
    #expect(fetched.status == 4)
    #expect(folder.names(in: "out") == ["5", "9"])
    #expect(fetched.messages.contains("ok 2  failed 2  verified 1  "))
    #expect(
      fetched.messages.contains(
        "headgate: \(urls[1]): its SHA-256 is \(sum(6)), and \(sum(7)) was expected; the body is not kept\n"))
    #expect(fetched.record(urls[0])?.sha256 == "\(sum(5))" && fetched.record(urls[3])?.sha256 == nil)
    #expect(fetched.record(urls[1])?.error == "checksum_mismatch" && fetched.record(urls[1])?.sha256 == "\(sum(6))")
    guard !session.isEmpty else { return }
    try folder.write("\(sum(6))  6\n\(sum(400_000))  400000\n", to: "sums")
    let failed = try await FetchTrial(arguments + ["--retry-failed"], in: folder).finish()
    #expect(failed.messages.contains("ok 2  failed 0  verified 2  "))
    #expect(folder.names(in: "out") == ["400000", "5", "6", "9"])
  }

  @Test func `Nothing of a body that does not match is written to the standard output`() async throws {
    try folder.write("\(sum(5))  5\n\(sum(1))  300000\n\(sum(7))  7\n", to: "sums")
    let urls = [5, 300_000, 7].map { origin.url("/bytes/\($0)") }
    let fetched = try await FetchTrial(["--checksum-file", "@/sums"] + urls, in: folder).finish()
    #expect(fetched.status == 4)
    #expect(fetched.output == [5, 7].flatMap { (0..<$0).map(OriginAnswer.patternByte) })
  }

  @Test func `A mirror with the right body replaces one with another body`() async throws {
    let list = "\(origin.url("/bytes/6"))\t\(origin.url("/bytes/5"))\n  checksum=sha-256=\(sum(5))\n"
    for options in [["-P", "@/a"], ["-P", "@/b", "--session", "@/run"], []] {
      let fetched = try await FetchTrial(
        ["-i", "-", "--list-format", "aria2", "--log", "@/log"] + options, in: folder, input: list
      ).finish()
      #expect(fetched.status == 0)
      #expect(fetched.messages.contains("ok 1  failed 0  verified 1  "))
      #expect(fetched.messages.contains("the body is not kept; trying the next mirror"))
      #expect(fetched.records.first?.sha256 == "\(sum(5))" && fetched.records.first?.mirror == origin.url("/bytes/5"))
      if options.isEmpty { #expect(fetched.output.count == 5) }
    }
    #expect(folder.bytes(of: "a/6")?.count == 5 && folder.bytes(of: "b/6")?.count == 5)
    #expect(folder.names(in: "a") == ["6"] && folder.names(in: "b") == ["6"])
  }

  @Test func `An existing file stays if its new body does not match`() async throws {
    try folder.write("\(sum(7))  5\n", to: "sums")
    try folder.write("old", to: "5")
    let fetched = try await fetch(
      "-P", "@/", "--overwrite", "--checksum-file", "@/sums", origin.url("/bytes/5"), in: folder)
    #expect(fetched.status == 4 && folder.text(of: "5") == "old")
    #expect(!folder.names().contains("5.part"))
  }
}
