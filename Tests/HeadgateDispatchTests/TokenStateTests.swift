import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The current token and its waiters, as a value.
@Suite struct TokenStateTests {
  @Test("under random events at most one fetch is in progress, and every waiter gets one result", arguments: 0..<200)
  func anything(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var state = TokenState<Int>(nil, leeway: .seconds(1))
    var now = Deadline(nanoseconds: 1_000_000)
    // By the waiters' own numbers: where they wait, and their numbers there.
    var waiting: [Int: (fetch: Int, number: Int)] = [:]
    var current: Int?
    var fetches: [Int: OneShot<Void>] = [:]
    var refused: String?
    var last = 0
    for step in 0..<300 {
      now = now + .milliseconds(Int.random(in: 0..<300, using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        last += 1
        let isUnwanted = OneShot<Void>()
        switch state.want(last, refused: refused, isUnwanted, at: now) {
        case .token(let token): #expect(token.value != refused && current == nil, "seed \(seed), step \(step)")
        case .waits(let number, let begins):
          if let begins {
            #expect(current == nil, "seed \(seed), step \(step): two fetches")
            current = begins.id
            fetches[begins.id] = isUnwanted
          }
          waiting[last] = (current ?? -1, number)
        }
      case 5..<7:
        guard let id = fetches.keys.sorted().randomElement(using: &random) else { continue }
        let lifetime: Duration? = Bool.random(using: &random) ? .seconds(1) : nil
        let isWhole = Bool.random(using: &random)
        let told = state.fetched(
          id, isWhole ? .success(BearerToken("\(step)", validFor: lifetime)) : .failure(Mishap()))
        #expect(told == waiting.filter { $0.value.fetch == id }.keys.sorted(), "seed \(seed), step \(step)")
        for waiter in told { waiting[waiter] = nil }
        #expect((state.token?.value == "\(step)") == (isWhole && current == id))
        #expect(state.fetched(id, .success(nil)).isEmpty)
        fetches[id] = nil
        if current == id { current = nil }
      case 7..<9:
        guard let (waiter, place) = waiting.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
          continue
        }
        waiting[waiter] = nil
        let (told, cancelled) = state.gaveUp(place.number)
        #expect(told == waiter, "seed \(seed), step \(step)")
        let isLast = !waiting.values.contains { $0.fetch == place.fetch }
        #expect((cancelled != nil) == isLast, "seed \(seed), step \(step)")
        #expect(cancelled === (isLast ? fetches[place.fetch] : nil))
        #expect(state.gaveUp(place.number).waiter == nil)
        if isLast {
          fetches[place.fetch] = nil
          if current == place.fetch { current = nil }
        }
      default:
        refused = state.token?.value
        guard Bool.random(using: &random) else { continue }
        let token = Bool.random(using: &random) ? BearerToken("set \(step)") : nil
        let (told, cancelled) = state.set(token)
        if token != nil, let old = current.take() {
          #expect(told == waiting.filter { $0.value.fetch == old }.keys.sorted(), "seed \(seed), step \(step)")
          #expect(cancelled === fetches[old])
          for waiter in told { waiting[waiter] = nil }
          fetches[old] = nil
        } else {
          #expect(told.isEmpty && cancelled == nil)
        }
        current = nil
      }
      #expect(state.waiting == waiting.count, "seed \(seed), step \(step)")
    }
  }

  @Test("the old token is available to the fetch, also after a failed one")
  func old() {
    var state = TokenState<Int>(BearerToken("old"), leeway: .zero)
    let now = Deadline(nanoseconds: 1)
    for _ in 0..<2 {
      guard case .waits(_, let begins?) = state.want(1, refused: "old", OneShot<Void>(), at: now) else {
        Issue.record("nothing is fetched")
        return
      }
      #expect(begins.old == BearerToken("old"))
      #expect(state.fetched(begins.id, .failure(Mishap())) == [1])
    }
  }
}
