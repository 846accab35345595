import HeadgateTesting
import Testing

@testable import HeadgateCommand

@Suite struct ProgressPanelTests {
  private func state() -> ProgressState {
    ProgressState(
      done: 1204, total: 2000, running: 18, queued: 778, failed: 37, bytes: 59_454_259, seconds: 21, rate: 84.1,
      rows: [
        ProgressState.Row(name: "a.example:443", running: 4, limit: 4, waiting: 120),
        ProgressState.Row(
          name: "b.example:443", running: 0, limit: 4, waiting: 304, reason: "paused 1.4 s by 503", isPaused: true),
        ProgressState.Row(name: "c.example:443", running: 8, limit: 8, waiting: 351),
      ])
  }

  private func lines(_ width: Int, _ height: Int = 24) -> [String] {
    ProgressPanel(width: width, height: height).lines(state())
  }

  @Test func `A panel of 80 columns`() {
    #expect(
      lines(80) == [
        "1,204/2,000  60 %  84.1/s  9 s left",
        "running 18  queued 778  failed 37  56.7 MiB",
        "b.example:443: paused 1.4 s by 503",
        "host           running  queued  waits for",
        "b.example:443      0/4     304  paused 1.4 s by 503",
        "a.example:443      4/4     120",
        "c.example:443      8/8     351",
      ])
  }

  @Test func `A panel of 300 columns is no wider than its content`() {
    #expect(lines(300)[1] == "running 18  queued 778  failed 37  56.7 MiB  b.example:443: paused 1.4 s by 503")
    #expect(lines(300).count == 6)
  }

  @Test func `A panel of 20 columns has only the first lines`() {
    #expect(
      lines(20) == ["1,204/2,000  60 %", "84.1/s  9 s left", "running 18", "queued 778", "failed 37"])
  }

  @Test func `A panel of 40 columns omits the reasons`() {
    #expect(lines(40).suffix(4).first == "host           running  queued")
  }

  @Test func `A low terminal has no rows, and one without room has no panel`() {
    #expect(lines(80, 7).count == 3)
    #expect(lines(80, 2) == ["1,204/2,000  60 %  84.1/s  9 s left"])
    #expect(lines(6).isEmpty && lines(0).isEmpty && lines(80, 1).isEmpty && lines(80, 0).isEmpty)
  }

  @Test func `Of many hosts the paused and the busiest are shown, sorted by name`() {
    var state = ProgressState()
    state.rows = (0..<100).map {
      ProgressState.Row(name: "h\($0 / 10)\($0 % 10)", running: 1, limit: 6, waiting: $0, isPaused: $0 == 3)
    }
    let lines = ProgressPanel(width: 80, height: 20).lines(state)
    #expect(lines.count == 10)
    #expect(lines.dropFirst(3).prefix(6).map { $0.prefix(3) } == ["h03", "h95", "h96", "h97", "h98", "h99"])
    #expect(lines.last == "and 94 more hosts")
  }

  @Test(arguments: 1...40) func `D129 no line is too wide and no panel too high, for any content`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pieces = ["a.example", "北京市", "e\u{301}", "👩‍👩‍👧", "\\u{1B}", "ｗｉｄｅ", ":443", "-", "한국어"]
    for _ in 0..<200 {
      var state = ProgressState()
      state.done = Int.random(in: 0...10_000_000, using: &random)
      state.total = Bool.random(using: &random) ? Int.random(in: 0...20_000_000, using: &random) : nil
      state.rate = Bool.random(using: &random) ? Double.random(in: 0...1e7, using: &random) : nil
      state.queued = Int.random(in: 0...1_000_000, using: &random)
      state.failed = Int.random(in: 0...3, using: &random)
      state.bytes = Int.random(in: 0...Int.max, using: &random)
      state.seconds = Double.random(in: 0...1e7, using: &random)
      state.rows = (0..<Int.random(in: 0...30, using: &random)).map { _ in
        let name = (0..<Int.random(in: 1...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        return ProgressState.Row(
          name: name.joined(), running: Int.random(in: 0...2000, using: &random), limit: 2000,
          waiting: Int.random(in: 0...100_000, using: &random),
          reason: Bool.random(using: &random) ? "paused 北京 by 429" : nil, isPaused: Bool.random(using: &random))
      }
      let (width, height) = (Int.random(in: 0...320, using: &random), Int.random(in: 0...60, using: &random))
      let panel = ProgressPanel(width: width, height: height, hasColours: Bool.random(using: &random))
      let lines = panel.lines(state)
      #expect(lines.count <= max(0, height / 2))
      for line in lines {
        #expect(DisplayWidth.ofPainted(line) <= width - ProgressPanel.margin, "\(width): \(line)")
        #expect(panel.hasColours || !line.unicodeScalars.contains("\u{1B}"))
        #expect(!line.contains("\n"))
      }
    }
  }

  @Test(arguments: [
    ("abc", 3), ("北京", 4), ("e\u{301}", 1), ("", 0), ("한", 2), ("ｗ", 2), ("–", 1), ("é", 1), ("😀", 2),
  ])
  func `The width of texts in columns`(_ text: String, _ columns: Int) { #expect(DisplayWidth.of(text) == columns) }

  @Test func `Text is cut at a character boundary`() {
    #expect(DisplayWidth.cut("abcdefgh", to: 8) == "abcdefgh")
    #expect(DisplayWidth.cut("abcdefghi", to: 8) == "abcdef..")
    #expect(DisplayWidth.cut("北京市北京", to: 7) == "北京..")
    #expect(DisplayWidth.cut("e\u{301}e\u{301}", to: 1) == "e\u{301}")
    #expect(DisplayWidth.pad("北", to: 5) == "北   ")
  }
}
