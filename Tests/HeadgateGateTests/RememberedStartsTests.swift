import HeadgateTesting
import Testing

@testable import HeadgateGate

/// Starts in long windows that several processes have in common.
@Suite struct RememberedStartsTests {
  /// A process: what it has reserved ends with it.
  private struct Process {
    var left = 0
    var used = 0
    var before: Int64 = 0
  }

  @Test(
    "no window has too many starts, whichever processes start them and however often they are killed", arguments: 0..<10
  )
  func bounded(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let units = [1, 2, 20, 500, 3000][Int.random(in: 0..<5, using: &random)]
    let length = Int64.random(in: 60_000...600_000, using: &random)
    let bounds = [
      StartBound(units: units, length: length, cause: .quota),
      StartBound(units: units * 3, length: length * 10, cause: .minimumInterval(.zero)),
    ]
    var known = Remembered()
    var processes = [Process](repeating: Process(), count: 3)
    var starts: [Int64] = []
    var now: Int64 = 1_764_000_000_000
    for _ in 0..<8000 {
      now += .random(in: 0...(2 * length / Int64(units)), using: &random)
      let index = Int.random(in: 0..<3, using: &random)
      if Int.random(in: 0..<20, using: &random) == 0 { processes[index] = Process() }
      if processes[index].left > 0, now < processes[index].before {
        processes[index].left -= 1
        processes[index].used += 1
        starts.append(now)
        continue
      }
      // As from a file.
      if Int.random(in: 0..<50, using: &random) == 0 { known = Remembered(known.text(named: "a"), named: "a") ?? known }
      switch known.program.reserve(bounds, after: now < processes[index].before ? processes[index].used : 0, at: now) {
      case .granted(let count, let before):
        let used = processes[index].before == before ? processes[index].used : 0
        processes[index] = Process(left: count - 1, used: used + 1, before: before)
        starts.append(now)
      case .waits(let until, _): #expect(until > now && until <= now + length * 11)
      }
    }
    for bound in bounds {
      for first in starts.indices.dropFirst(bound.units) {
        #expect(starts[first] - starts[first - bound.units] >= bound.length)
      }
    }
    // What was lost does not add up.
    #expect(known.program.windows.allSatisfy { $0.parts.count <= 102 })
    now += length * 10 + length
    let again = known.program.reserve(bounds, at: now)
    guard case .granted = again else {
      Issue.record("nothing starts although all windows are empty")
      return
    }
  }

  @Test("a window is used up by as many starts as it has, and none is held back for more than its hundredth part")
  func usedUp() {
    let bound = StartBound(units: 20, length: 61_200, cause: .quota)
    var program = Remembered.Program()
    let now: Int64 = 1_764_000_000_000
    for _ in 0..<20 {
      #expect(program.reserve([bound], at: now) == .granted(1, before: program.windows[0].parts[0].end))
    }
    guard case .waits(let until, .quota) = program.reserve([bound], at: now + 30_000) else {
      Issue.record("one more than the limit starts")
      return
    }
    #expect(until > now + 61_200 && until <= now + 61_200 + 612)
    #expect(program.reserve([bound], at: until - 1) == .waits(until: until, .quota))
    guard case .granted = program.reserve([bound], at: until) else {
      Issue.record("nothing starts when the window is empty")
      return
    }
  }

  @Test("a burst needs few writes, and reserves at most a tenth more than it starts")
  func bursts() {
    let bound = StartBound(units: 900, length: 3_600_000, cause: .quota)
    var program = Remembered.Program()
    var (used, left, writes) = (0, 0, 0)
    while used < 900 {
      if left == 0 {
        guard case .granted(let count, _) = program.reserve([bound], after: used, at: 3_600_000) else { break }
        left = count
        writes += 1
      }
      used += 1
      left -= 1
      #expect(left <= used / 10)
    }
    #expect(used == 900 && writes < 80)
  }

  @Test("of thousands a thousandth is reserved at once, for its part of the window; and two limits share a window")
  func batches() {
    let bound = StartBound(units: 5000, length: 60_000, cause: .quota)
    let lower = StartBound(units: 7, length: 60_000, cause: .minimumInterval(.zero))
    var program = Remembered.Program()
    #expect(program.reserve([bound], at: 600_000) == .granted(5, before: 600_600))
    #expect(program.reserve([bound, lower], at: 600_100) == .granted(1, before: 600_600))
    #expect(program.windows.map(\.starts) == [6])
    #expect(program.reserve([bound], at: 600_100) == .granted(5, before: 600_600))
    #expect(program.reserve([bound, lower], at: 600_200) == .waits(until: 660_600, .minimumInterval(.zero)))
  }
}
