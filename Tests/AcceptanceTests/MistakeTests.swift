import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// Input of new users that has another meaning here, or none.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct MistakeTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
      origin.setScript(OriginScript(handler: { _ in .text("ok\n") }))
      try folder.write((origin.url("/a") + "\n").utf8, to: "urls.txt")
      try folder.write((origin.url("/a") + "\r\n" + origin.url("/b") + "\r\n").utf8, to: "windows.txt")
      try folder.write([0xFF, 0xFE, UInt8(ascii: "h"), 0], to: "utf16.txt")
    }

    @Test(
      "The first line of each message says what is wrong and what to type, before anything is sent",
      arguments: Mistake.all)
    func mistake(_ mistake: Mistake) async throws {
      let line = try ShellLine(mistake.line, in: folder, variables: ["ORIGIN": "http://127.0.0.1:\(origin.port)"])
      let (status, _, messages) = await line.finish()
      #expect(status == mistake.status, "\(messages)")
      #expect(!messages.contains("secret"), "\(messages)")
      if let says = mistake.says {
        #expect(messages.hasPrefix(says.replacing("PORT", with: "\(origin.port)")), "\(messages)")
        #expect(origin.counts().received == 0)
      } else {
        #expect(origin.counts().received > 0)
      }
    }
  }
}
