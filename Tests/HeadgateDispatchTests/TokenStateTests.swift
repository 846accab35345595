import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The current token and its waiters, as a value.
@Suite struct TokenStateTests {
  @Test("under random events at most one fetch is in progress, and each waiter counts at its own", arguments: 0..<200)
  func anything(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var state = TokenState(nil, leeway: .seconds(1))
    var now = Deadline(nanoseconds: 1_000_000)
    // By the waiters' own numbers: the fetches that they wait for.
    var waiting: [Int: TokenState.Fetch] = [:]
    var current: Int?
    var fetches: [Int: TokenState.Fetch] = [:]
    var refused: String?
    var isRefused = false
    var last = 0
    for step in 0..<300 {
      now = now + .milliseconds(Int.random(in: 0..<300, using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        last += 1
        switch state.want(refused: refused, at: now) {
        case .token(let token):
          #expect(token.value != refused && !isRefused && current == nil, "seed \(seed), step \(step)")
        case .fetch(let fetch, let begins):
          #expect(begins == (current == nil), "seed \(seed), step \(step): two fetches, or none")
          if begins {
            #expect(fetches[fetch.number] == nil, "seed \(seed), step \(step)")
            current = fetch.number
            fetches[fetch.number] = fetch
          }
          #expect(fetch.number == current, "seed \(seed), step \(step)")
          waiting[last] = fetch
        }
      case 5..<7:
        guard let id = fetches.keys.sorted().randomElement(using: &random), let fetch = fetches[id] else { continue }
        let lifetime: Duration? = Bool.random(using: &random) ? .seconds(1) : nil
        let isWhole = Bool.random(using: &random)
        let isAwaited = state.ended(
          fetch, isWhole ? .success(BearerToken("\(step)", validFor: lifetime)) : .failure(Mishap()))
        #expect(isAwaited == waiting.values.contains { $0.number == id }, "seed \(seed), step \(step)")
        waiting = waiting.filter { $0.value.number != id }
        #expect((state.token?.value == "\(step)") == (isWhole && current == id))
        let token = state.token
        let isAwaitedAgain = state.ended(fetch, .success(nil))
        #expect(!isAwaitedAgain && state.token == token, "seed \(seed), step \(step): it ended twice")
        let isLeft = state.leave(fetch)
        #expect(!isLeft, "seed \(seed), step \(step): a waiter left a fetch that had ended")
        fetches[id] = nil
        if current == id { (current, isRefused) = (nil, false) }
      case 7..<9:
        guard let (waiter, fetch) = waiting.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
          continue
        }
        waiting[waiter] = nil
        let isLast = !waiting.values.contains { $0.number == fetch.number }
        let wasLast = state.leave(fetch)
        #expect(wasLast == isLast, "seed \(seed), step \(step)")
        if isLast {
          let isLeftAgain = state.leave(fetch)
          #expect(!isLeftAgain, "seed \(seed), step \(step): it was left twice")
          fetches[fetch.number] = nil
          if current == fetch.number { current = nil }
        }
      default:
        refused = state.token?.value
        if Bool.random(using: &random), let refused {
          state.refuse(refused)
          isRefused = true
        }
        state.refuse("another")
        guard Bool.random(using: &random) else { continue }
        let token = Bool.random(using: &random) ? BearerToken("set \(step)") : nil
        let outdated = state.set(token)
        #expect(outdated?.number == (token == nil ? nil : current), "seed \(seed), step \(step)")
        if let outdated {
          waiting = waiting.filter { $0.value.number != outdated.number }
          fetches[outdated.number] = nil
        }
        (current, isRefused) = (nil, false)
      }
      #expect(state.waiting == waiting.count, "seed \(seed), step \(step)")
    }
  }

  @Test("the old token is available to the fetch, also after a failed one")
  func old() {
    var state = TokenState(BearerToken("old"), leeway: .zero)
    let now = Deadline(nanoseconds: 1)
    for _ in 0..<2 {
      guard case .fetch(let fetch, begins: true) = state.want(refused: "old", at: now) else {
        Issue.record("nothing is fetched")
        return
      }
      #expect(fetch.old == BearerToken("old"))
      _ = state.ended(fetch, .failure(Mishap()))
      #expect(state.waiting == 0)
    }
  }

  @Test("a fetch that ends after its token was replaced by hand answers nobody")
  func replaced() {
    var state = TokenState(nil, leeway: .zero)
    guard case .fetch(let fetch, begins: true) = state.want(refused: nil, at: Deadline(nanoseconds: 1)) else {
      Issue.record("nothing is fetched")
      return
    }
    let outdated = state.set(BearerToken("by hand"))
    #expect(outdated?.number == fetch.number)
    let isAwaited = state.ended(fetch, .failure(CancellationError()))
    #expect(!isAwaited && state.token == BearerToken("by hand"))
  }
}
