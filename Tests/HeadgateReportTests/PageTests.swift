import Foundation
import Testing

@testable import HeadgateReport

@Suite struct PageTests {
  private static let hostile =
    "</script><script>document.title='pwned'</script><img src=x onerror=document.title='pwned'>\u{2028}\u{202E}&amp;'\"\\"
  private static let shownHostile =
    hostile.replacing("\u{2028}", with: "\\u{2028}").replacing("\u{202E}", with: "\\u{202E}")

  private func hash(_ bytes: [UInt8]) throws -> String {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl", "dgst", "-sha256", "-binary"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    input.fileHandleForWriting.write(Data(bytes))
    try input.fileHandleForWriting.close()
    return output.fileHandleForReading.readDataToEndOfFile().base64EncodedString()
  }

  @Test("The page's policy has the hashes of its style and script; scripts/report-hashes.sh writes them")
  func hashes() throws {
    #expect(try hash(RunPage.style) == RunPage.styleHash)
    #expect(try hash(RunPage.script) == RunPage.scriptHash)
  }

  @Test func `Nothing from a log can become markup, and all of it is shown`() throws {
    let run = RunSummary(
      Samples.log([
        "url": Self.hostile, "end_point": Self.hostile, "error": "http_error", "message": Self.hostile,
        "pauses": [["end_point": "b", "at": 1, "until": 2, "reason": Self.hostile]],
      ]))
    let page = String(decoding: RunPage.bytes(run), as: UTF8.self)
    let data = try #require(page.firstMatch(of: try Regex("id=\"data\">(.*)</script>\n?<script>"))?.output[1].substring)
    #expect(!data.contains { "<>&\u{2028}\u{202E}".contains($0) })
    let members = try #require(
      try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any])
    let rows = try #require(members["rows"] as? [String: Any])
    #expect(rows["url"] as? [String] == [Self.shownHostile])
  }

  @Test(
    arguments: [0x1B, 0x9B, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069])
  func `Control characters and direction marks are shown as escapes, whatever their source`(
    value: UInt32
  ) throws {
    let scalar = try #require(Unicode.Scalar(value))
    let text = "moc\(Character(scalar))é"
    let run = RunSummary(
      Samples.log([
        "url": text, "end_point": text, "error": text, "message": text,
        "pauses": [["end_point": text, "at": 1, "until": 2, "reason": text]],
      ]))
    let shown = "moc\\u{\(String(value, radix: 16, uppercase: true))}é"
    let data = try Samples.data(run)
    let rows = try #require(data["rows"] as? [String: Any])
    #expect(rows["url"] as? [String] == [shown])
    let errors = try #require((rows["errors"] as? [[Any]])?.first)
    #expect(errors.dropFirst().compactMap { $0 as? String } == [shown, shown])
    let endPoint = try #require((data["endPoints"] as? [[String: Any]])?.first)
    #expect(endPoint["name"] as? String == shown)
    #expect((endPoint["pauses"] as? [[Any]])?.first?.last as? String == shown)
    let page = String(decoding: RunPage.bytes(run), as: UTF8.self)
    #expect(!page.unicodeScalars.contains(scalar))
  }

  @Test func `A text of the page ends after two thousand scalars, marks included`() {
    #expect(PageText.of(String(repeating: "e\u{301}", count: 5_000)).unicodeScalars.count == 2_000)
    #expect(PageText.of(String(repeating: "x", count: 5_000)).count == 2_000)
  }

  @Test func `A page refers to nothing outside itself`() {
    let page = String(decoding: RunPage.bytes(RunSummary(RunLog())), as: UTF8.self)
    let text = page.replacing("http://www.w3.org/2000/svg", with: "")
    for word in ["http:", "https:", "src=", "href=", "@import", "url(", "innerHTML", "eval("] {
      #expect(!text.contains(word) as Bool, "\(word)")
    }
  }

  @Suite(.enabled("chromium is not installed") { Chromium.isExpected }, .timeLimit(.minutes(5)))
  struct InBrowser {
    @Test func `Hostile text is shown as text`() async throws {
      let page = try OpenedPage(
        Samples.log([
          "url": PageTests.hostile, "end_point": PageTests.hostile, "status": 500, "error": "http_error",
          "message": PageTests.hostile,
        ]))
      let dom = try await page.dom()
      #expect(dom.contains("data-drawn=\"true\""))
      #expect(dom.contains("<title>1 request to 1 end-point – Headgate report</title>"))
      #expect(dom.contains("&lt;img src=x onerror"))
      #expect(!dom.contains("<img"))
      #expect(dom.contains("\\u{202E}&amp;amp;'"))
      #expect(!dom.unicodeScalars.contains { ["\u{2028}", "\u{202E}"].contains($0) })
    }

    @Test func `A page of 100,000 requests has few elements, and can be searched and read with the keyboard`()
      async throws
    {
      let page = try OpenedPage(Samples.longLog(100_000))
      let seen = try await page.seen(
        """
        const [requests, failures] = document.querySelectorAll('.list');
        seen.push(document.querySelector('h1').textContent);
        seen.push(document.querySelectorAll('*').length < 3000);
        seen.push(requests.getAttribute('aria-rowcount'), failures.getAttribute('aria-rowcount'));
        type(document.querySelectorAll('input[type=search]')[1], 'item/97000');
        await wait(400);
        seen.push(failures.getAttribute('aria-rowcount'));
        press(failures, 'ArrowDown');
        seen.push(document.querySelectorAll('.detail')[1].textContent.includes('h0.example:443'));
        press(requests, 'End');
        press(requests, 'End');
        await wait(400);
        seen.push(document.getElementById(requests.getAttribute('aria-activedescendant')).getAttribute('aria-rowindex'));
        document.querySelector('input[type=checkbox]').click();
        seen.push(requests.getAttribute('aria-rowcount'));
        const chart = document.querySelector('svg[tabindex]');
        press(chart, 'End');
        seen.push(document.querySelector('.readout').textContent.startsWith('At '));
        """)
      #expect(
        seen == "100,000 requests to 5 end-points|true|100000|1031|1|true|100000|1031|true")
    }

    @Test(arguments: [400, 1280]) func `Both themes are drawn, without a violation of the page's policy`(_ width: Int)
      async throws
    {
      let page = try OpenedPage(Samples.longLog(2_000))
      let light = try await page.picture(width: width, isDark: false)
      let dark = try await page.picture(width: width, isDark: true)
      #expect(light.starts(with: [0x89, 0x50, 0x4E, 0x47]))
      #expect(light.count > 20_000 && dark.count > 20_000)
      #expect(light != dark)
      let messages = try await Chromium.open(page.page, ["--dump-dom"]).messages
      #expect(!messages.contains("CONSOLE"), "\(messages)")
    }

    @Test func `What the requests waited for comes first, the longest first, with words for known causes`() async throws
    {
      let page = try OpenedPage(Samples.log(["waited": ["paused": 12.4, "other": 1, "rate": 41]]))
      let seen = try await page.seen(
        """
        const section = document.querySelector('section');
        seen.push(section.querySelector('h2').textContent);
        for (const part of section.querySelectorAll('dt, dd')) seen.push(part.textContent);
        """)
      #expect(seen == "Where the time went|rates, 41.0 s|75 %|pauses, 12.4 s|23 %|other, 1.00 s|2 %")
    }

    @Test func `An empty run is drawn`() async throws {
      let dom = try await OpenedPage(RunLog()).dom()
      #expect(dom.contains("data-drawn=\"true\""))
      #expect(dom.contains("0 requests"))
    }
  }
}
