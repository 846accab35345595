import HeadgateThreads

@testable import HeadgateDispatch

/// What plays random events: the scheduler alone, or with a gate's loans beside it.
protocol ExercisedScheduler {
  typealias Numbers = Scheduler<Int>

  var waiting: Int { get }
  var running: Int { get }
  var alive: Int { get }
  var expected: Int { get }
  var rememberedEndPoints: Int { get }
  var hasEffects: Bool { get }

  mutating func submit(
    _ item: Int, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority, at moment: Deadline,
    patience: Numbers.Patience, mayBeHeld: Bool, mayStart: Bool, as admission: Numbers.Admission
  ) -> Numbers.Submission
  mutating func finish(_ ticket: Ticket) -> Int?
  mutating func withdraw(_ ticket: Ticket) -> Numbers.Withdrawal
  mutating func move(_ ticket: Ticket, to endPoint: EndPoint) -> Numbers.Move
  mutating func reclass(_ ticket: Ticket) -> Numbers.Reclass
  mutating func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Bool
  mutating func setPaused(_ isPaused: Bool, at endPoint: EndPoint)
  mutating func setMultiplexing(_ multiplexes: Bool, at endPoint: EndPoint)
  mutating func setLimits(_ limits: GateLimits)
  mutating func expect(wasHere: Bool) -> Bool
  mutating func forgetExpected()
  mutating func close(_ mode: Numbers.Closing)
  mutating func next() -> Numbers.Effect?
  func outlook(
    for endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority, at moment: Deadline,
    patience: Numbers.Patience
  ) -> Numbers.Outlook
  func brokenInvariant(inFull: Bool) -> String?
}

extension Scheduler<Int>: ExercisedScheduler {}
