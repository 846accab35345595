import Foundation
import HeadgateCurl
import HeadgateDispatch
import Testing

@testable import HeadgateCommand

@Suite struct TextTests {
  @Test(arguments: [
    (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (12_595, "12.3 KiB"), (1_048_575, "1.0 MiB"),
    (1_288_490_189, "1.2 GiB"), (Int.max, "8192.0 PiB"),
  ])
  func `Bytes in readable form`(count: Int, text: String) { #expect(Amount.bytes(count) == text) }

  @Test(
    arguments: [
      (0, "0.00 s"), (0.414, "0.41 s"), (9.99, "9.99 s"), (9.999, "10 s"), (41.3, "41 s"), (185, "3 min 5 s"),
      (7800, "2 h 10 min"), (-1, "0.00 s"),
    ] as [(Double, String)]
  )
  func `Seconds in readable form`(seconds: Double, text: String) { #expect(Amount.seconds(seconds) == text) }

  @Test func `The first interrupt names the running requests`() {
    #expect(
      InterruptText.of([("a:80", 1), ("b:80", 0)]).hasPrefix(
        "waiting for 1 running request to finish (1 at a:80), for as long as it takes; "))
    #expect(
      InterruptText.of([("a:80", 1), ("b:80", 2), ("c:80", 1), ("d:80", 1), ("e:80", 1)]).contains(
        "6 running requests to finish (2 at b:80, 1 at a:80, 1 at c:80, others at 2 more), for as long as they take; "))
    #expect(InterruptText.of([]).hasPrefix("ending: no request is running"))
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567"), (-1_000, "-1,000"),
  ])
  func `Counts in readable form`(count: Int, text: String) { #expect(Amount.grouped(count) == text) }

  @Test func `JSON strings are read back unchanged`() throws {
    for text in ["", "a\"b\\c/d", "\u{0}\u{1F}\n\r\t", "ä€😀", "\u{7F}\u{2028}"] {
      let back = try JSONDecoder().decode([String].self, from: Data("[\(JSONLine.quoted(text))]".utf8))
      #expect(back == [text])
    }
  }

  @Test func `A record has all its members in order`() throws {
    let record = FetchRecord(
      url: "http://a/",
      finalURL: "http://b/",
      status: 200,
      version: "HTTP/2",
      attempts: 1,
      bytes: 5,
      file: "out/a",
      queued: 0.25,
      exchange: ExchangeTimes(
        name: .milliseconds(1), connect: .milliseconds(2), firstByte: .nanoseconds(10_000_400), total: .milliseconds(20)
      ),
      total: 1.5,
      timeline: URLTimeline(start: 0.5),
      time: WallClock.text(seconds: 97_445, milliseconds: 6)
    )
    var waited = record
    waited.waited.add(41_000_000_000, to: .rate)
    waited.waited.add(12_400_000_000, to: .paused)
    waited.waited.add(50_000_000_000, to: .longLane)
    #expect(
      waited.json.contains(
        #""queued":0.250000,"waited":{"long_lane":50.000000,"rate":41.000000,"paused":12.400000},"dns""#))
    waited.waited = WaitTimes()
    waited.waited.add(999_999, to: .limit)
    #expect(waited.json == record.json)
    let endPoint = try EndPoint("http://a/")
    waited.timeline?.exchanges = [
      URLTimeline.Exchange(endPoint: endPoint, start: 0, end: 1, status: nil, error: "connect_failed", limit: 6),
      URLTimeline.Exchange(endPoint: endPoint, start: 2, end: 3, status: 200, limit: 6),
    ]
    #expect(waited.json.contains(#""end":1.000000,"status":null,"error":"connect_failed","limit":6}"#))
    #expect(waited.json.contains(#""end":3.000000,"status":200,"error":null,"limit":6}"#))
    #expect(
      record.json == """
        {"url":"http://a/","final_url":"http://b/","end_point":null,"status":200,\
        "http_version":"HTTP/2","error":null,"message":null,"attempts":1,"bytes":5,\
        "file":"out/a","queued":0.250000,"dns":0.001000,"connect":0.002000,"tls":0.000000,"first_byte":0.010000,\
        "total":1.500000,"start":0.500000,"sent":null,"ran":null,"limit":null,"exchanges":null,"pauses":null,"time":"1970-01-02T03:04:05.006Z"}

        """
    )
  }

  @Test func `An invalid URL is named once`() {
    #expect(
      BadURL.message("foo", "\"foo\" has no scheme") == "\"foo\" has no scheme; URLs begin with https:// or http://")
    #expect(
      BadURL.message("h.example/x", "\"h.example/x\" has no scheme")
        == "\"h.example/x\" has no scheme; write https://h.example/x")
    #expect(BadURL.message("foo", "\"foo\"") == "\"foo\" is not a URL; write it as http://host/path")
    #expect(
      BadURL.message("ftp://x", "the scheme ftp is not supported")
        == "\"ftp://x\": the scheme ftp is not supported; URLs begin with https:// or http://"
    )
  }

  @Test func `Advice on a refused redirect names the options that refuse it`() throws {
    let error = DispatchError(.redirectRefused)
    let socket = ErrorText.of(error, askedFor: try EndPoint(unixSocket: "/run/x.sock"))
    #expect(socket.hasSuffix("; see --unix-socket, --redirects and --proto-redir"))
    let other = ErrorText.of(error, askedFor: try EndPoint(host: "a", port: 80))
    #expect(other.hasSuffix("; see --redirects, --proto-redir and --allow-private-redirects"))
  }

  @Test func `Advice on certificates names the options that set them`() throws {
    func advice(_ detail: String) throws -> String {
      ErrorText.of(DispatchError(.tlsFailed, detail: detail), askedFor: try EndPoint(host: "a", port: 443))
    }
    #expect(try advice("\(TLSFailure.untrustedServer) (x)").hasSuffix("; give the server's authority with --cacert"))
    #expect(try advice("\(TLSFailure.untrustedClient) (x)").hasSuffix("; give one with --cert and --key"))
    #expect(try !advice("something else").contains("--"))
  }

  @Test func `The columns of the demo are aligned with their titles`() {
    let row = DemoRow(
      name: "Headgate",
      sockets: 4,
      requests: 4,
      served: 206,
      timedOut: 0,
      failed: 0,
      seconds: 6.84,
      explanation: "So."
    )
    #expect(DemoTable.head == "              sockets  requests   served  timed out     time")
    #expect(DemoTable.text(row) == "Headgate            4         4      206          0    6.8 s\n  So.\n")
  }
}
