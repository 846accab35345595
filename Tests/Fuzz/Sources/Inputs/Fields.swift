import HTTPTypes
import HeadgateThreads

@testable import HeadgateDispatch
@testable import HeadgateGate

private let names = [
  "Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
  "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After",
  "X-Rate-Limit-Remaining",
  "X-Rate-Limit-Reset", "Retry-After-Ms", "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens",
  "Anthropic-RateLimit-Input-Tokens-Remaining", "Anthropic-RateLimit-Input-Tokens-Reset",
].compactMap { HTTPField.Name($0) }

// Each line is a field: a letter for its name, then its value.
private func fields(_ bytes: UnsafeRawBufferPointer) -> HTTPFields {
  var fields = HTTPFields()
  for line in bytes.split(separator: UInt8(ascii: "\n")) {
    guard let letter = line.first else { continue }
    let value = String(decoding: line.dropFirst(), as: UTF8.self)
    fields.append(HTTPField(name: names[Int(letter &- UInt8(ascii: "a")) % names.count], value: value))
    // The parser of dates, without the checks that a field's value passes first.
    _ = StatedWait.all(in: value, .secondsOrMoment) { 1_700_000_000 }
  }
  return fields
}

/// Quotas and waits: nothing traps, quotas are few and not negative, and no pause is longer than the policy's longest with its
/// jitter.
@Sendable func fuzzFields(_ bytes: UnsafeRawBufferPointer) {
  let read = QuotaFields.read(fields(bytes), now: 1_700_000_000)
  precondition(read.quotas.count <= QuotaFields.mostQuotas)
  precondition(read.quotas.allSatisfy { $0.remaining ?? 0 >= 0 && $0.limit ?? 0 >= 0 && $0.reset ?? .zero >= .zero })
  precondition(read.binding.map { $0.reset >= .zero } ?? true)
  let wait = read.wait
  precondition(wait.map { $0 > .zero } ?? true)
  var random = FixedRandom()
  for outcome in [ExchangeOutcome.refused(wait: wait), .unavailable(wait: wait)] {
    var health = EndPointHealth()
    health.adopt(PausePolicy(), nil)
    let now = Deadline(nanoseconds: 1 << 60)
    _ = health.answered(outcome, startedAt: now, at: now, using: &random)
    precondition(health.notBefore <= now.advanced(by: .seconds(600)))
  }
}
