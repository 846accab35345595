/// The choices of one run, in order; the next run differs in the last choice that has an alternative left.
struct Choices {
  /// How often a run may deviate from the first alternative.
  struct Bounds {
    /// Preempting a thread that could continue.
    var preemptions: Int
    /// After a thread that can't continue, running another thread than the next in turn.
    var detours: Int
    /// A spurious wake-up of a thread that sleeps on a word, which futex(2) permits.
    var wakeUps: Int
  }

  private struct Choice {
    var options: [Int]
    var index = 0
  }

  private let bounds: Bounds
  private var made: [Choice] = []
  private var position = 0
  private var left: Bounds

  init(_ bounds: Bounds) {
    self.bounds = bounds
    left = bounds
  }

  var taken: [Int] { made.map { $0.options[$0.index] } }

  /// Chooses among threads. If `current` can continue, leaving it costs a preemption; if not, the next thread in turn
  /// runs, and choosing another costs a detour. `isAsleep`: whether a thread would wake up spuriously. `enabled`
  /// returns whether one may.
  mutating func choose(
    after current: Int?, canStay: Bool, isAsleep: (Int) -> Bool, among enabled: (Bool) -> [Int]
  ) -> Int? {
    if canStay, let current, left.preemptions == 0 { return current }
    if position == made.count {
      let options = options(enabled(left.wakeUps > 0), current ?? -1, canStay)
      if options.isEmpty { return nil }
      made.append(Choice(options: options))
    }
    let choice = made[position]
    position += 1
    let next = choice.options[choice.index]
    if choice.index > 0 {
      if canStay { left.preemptions -= 1 } else { left.detours -= 1 }
    }
    if isAsleep(next) { left.wakeUps -= 1 }
    return next
  }

  private func options(_ enabled: [Int], _ current: Int, _ canStay: Bool) -> [Int] {
    let others = enabled.filter { $0 > current } + enabled.filter { $0 < current }
    if canStay { return [current] + others }
    // It may continue nevertheless: by its deadline, or because it is only polling. It is the last in turn.
    let inTurn = others + enabled.filter { $0 == current }
    return left.detours > 0 ? inTurn : Array(inTurn.prefix(1))
  }

  /// Advances to the next run. False: all runs are done.
  mutating func advance() -> Bool {
    position = 0
    left = bounds
    while let last = made.last {
      if last.index + 1 < last.options.count {
        made[made.count - 1].index += 1
        return true
      }
      made.removeLast()
    }
    return false
  }
}
