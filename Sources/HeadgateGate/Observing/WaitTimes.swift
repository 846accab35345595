import HeadgateThreads

/// How long a request waited, or all requests of an end-point, by the kind of what they waited for.
///
///     print(response.times.waited)            // rate 41.0 s, paused 12.4 s, limit 3.1 s
///     print(response.times.waited[.paused])   // 12.4 seconds
///
/// At each moment a request waits for one kind: that of its ``WaitReason``. A request that one of its scopes holds back
/// counts as waiting for that scope, also while its end-point has no room either.
public struct WaitTimes: Sendable, Hashable, CustomStringConvertible {
  // Most requests wait for nothing or for one thing. Only the others take up memory of their own.
  private enum Box: Sendable, Hashable {
    case none
    case one(WaitReason.Kind.Word, Int64)
    indirect case several(WaitSums)
  }

  private var box = Box.none

  /// No waits.
  public init() {}

  init(_ sums: WaitSums) {
    let (count, last) = sums.causes
    guard let last else { return }
    box = count == 1 ? .one(last, sums[last]) : .several(sums)
  }

  var sums: WaitSums {
    var sums = WaitSums()
    switch box {
    case .none: break
    case .one(let cause, let nanoseconds): sums[cause] = nanoseconds
    case .several(let all): sums = all
    }
    return sums
  }

  /// Whether there was no wait.
  public var isEmpty: Bool { if case .none = box { true } else { false } }

  /// The time of waiting for a kind of limit. Zero if there was none.
  public subscript(kind: WaitReason.Kind) -> Duration { .nanoseconds(nanoseconds(kind.word)) }

  private func nanoseconds(_ word: WaitReason.Kind.Word) -> Int64 {
    switch box {
    case .none: 0
    case .one(let cause, let nanoseconds): cause == word ? nanoseconds : 0
    case .several(let all): all[word]
    }
  }

  /// The kinds that were waited for, with their times: the longest first, equal ones in the order of the kinds.
  public var all: [(kind: WaitReason.Kind, duration: Duration)] {
    if isEmpty { return [] }
    return WaitReason.Kind.Word.allCases.map { ($0, nanoseconds($0)) }.filter { $0.1 > 0 }
      .sorted { ($1.1, $0.0.rawValue) < ($0.1, $1.0.rawValue) }
      .map { (WaitReason.Kind($0), .nanoseconds($1)) }
  }

  /// The sum of all times.
  public var total: Duration { .nanoseconds(totalNanoseconds) }

  package var totalNanoseconds: Int64 {
    switch box {
    case .none: 0
    case .one(_, let nanoseconds): nanoseconds
    case .several(let all): all.total
    }
  }

  /// The kinds with their times, the longest first: `rate 41.0 s, limit 3.1 s`. Without a wait: `none`.
  public var description: String {
    isEmpty ? "none" : all.map { "\($0.kind) \($0.duration.words)" }.joined(separator: ", ")
  }

  /// Adds a wait. Nothing if it is not longer than zero.
  package mutating func add(_ nanoseconds: Int64, to kind: WaitReason.Kind) {
    guard nanoseconds > 0 else { return }
    var sums = sums
    sums[kind.word] &+= nanoseconds
    self = WaitTimes(sums)
  }

  /// Adds the waits of another request, or of another part of the same one.
  public static func += (left: inout WaitTimes, right: WaitTimes) {
    if right.isEmpty { return }
    left = left.isEmpty ? right : WaitTimes(left.sums + right.sums)
  }
}
