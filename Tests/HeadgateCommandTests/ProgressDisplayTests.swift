import Foundation
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The lines above the panel and the panel itself, and when each is written.
@Suite struct ProgressDisplayTests {
  private let folder: TemporaryFolder
  private let crew = LaneCrew(name: "test", size: 1)
  private let descriptor: Int32

  init() throws {
    folder = try TemporaryFolder()
    descriptor = try Descriptor.create(folder.file("console"))
  }

  private var written: String { folder.text(of: "console") ?? "" }

  private func display(_ mode: ProgressMode, _ console: LineWriter, _ clock: ManualClock) -> ProgressDisplay {
    let display = ProgressDisplay(mode, on: console, descriptor, timers: clock)
    let began = clock.now
    display.observe { (ProgressState(done: 4, seconds: (clock.now - began).inSeconds), 4) }
    return display
  }

  @Test func `A plain line is printed every five seconds, and none after the end`() async {
    let (clock, console) = (ManualClock(), LineWriter(descriptor, on: crew))
    let display = display(.plain, console, clock)
    display.start()
    clock.advance(by: .seconds(4.9))
    await console.flush()
    #expect(written == "")
    clock.advance(by: .seconds(0.2))
    await console.flush()
    #expect(written == "headgate: 4 done  0.8/s  running 0  queued 0  0 B\n")
    clock.advance(by: .seconds(5))
    display.stop()
    clock.advance(by: .seconds(20))
    await console.flush()
    #expect(written.split(separator: "\n").count == 2)
    #expect(clock.pendingCount == 0)
  }

  @Test func `Objects are printed every second, and one at the end`() async {
    let (clock, console) = (ManualClock(), LineWriter(descriptor, on: crew))
    let display = display(.json, console, clock)
    display.start()
    for _ in 0..<3 { clock.advance(by: .seconds(1)) }
    display.stop()
    await console.flush()
    #expect(written.split(separator: "\n").count == 4)
    #expect(written.hasPrefix("{\"event\":\"progress\",\"done\":4,"))
  }

  @Test(arguments: 1...30) func `D129 lines are kept complete above the panel, and nothing else stays`(_ seed: UInt64)
    async
  {
    var random = SeededRandom(seed: seed)
    let columns = Int.random(in: 8...60, using: &random)
    let console = LineWriter(descriptor, on: crew, columns: { columns })
    var said: [String] = []
    var status: [String] = []
    var isHeld = false
    for number in 0..<200 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2:
        said.append("line \(number) " + String(repeating: "北x", count: Int.random(in: 0...40, using: &random)))
        console.write(said[said.count - 1] + "\n")
      case 3, 4, 5:
        status = (0..<Int.random(in: 0...6, using: &random)).map { row in
          let text = DisplayWidth.cut("s\(row) \(number) 京京京京京京京京", to: columns - 3)
          return Bool.random(using: &random) ? "\u{1B}[31m\(text)\u{1B}[0m" : text
        }
        console.show(status: status)
      case 6: await console.flush()
      default:
        guard !isHeld else { continue }
        // As for Ctrl-Z.
        isHeld = true
        console.holdStatus()
        await console.flush()
        console.releaseStatus()
        isHeld = false
      }
    }
    console.endStatus()
    console.show(status: ["late"])
    await console.flush()
    var terminal = TerminalModel(columns: columns, height: 1_000)
    terminal.write(written)
    #expect(terminal.problems == [])
    let expected = said.joined()
    #expect(terminal.lines.joined() == expected)
  }

  @Test func `A panel that a narrower terminal has wrapped is erased completely`() {
    #expect(LineWriter.eraser(of: [String(repeating: "x", count: 77)], columns: 80) == "\r\u{1B}[J")
    #expect(LineWriter.eraser(of: [String(repeating: "x", count: 77)], columns: 40) == "\u{1B}[1A\r\u{1B}[J")
    let panel = ["\u{1B}[1m" + String(repeating: "x", count: 81) + "\u{1B}[0m", "", "北北北"]
    #expect(LineWriter.eraser(of: panel, columns: 40) == "\u{1B}[4A\r\u{1B}[J")
    #expect(LineWriter.eraser(of: panel, columns: .max) == "\u{1B}[2A\r\u{1B}[J")
    #expect(LineWriter.eraser(of: panel, columns: 4) == "\u{1B}[23A\r\u{1B}[J")
  }
}
