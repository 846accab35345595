import HeadgateDispatch
import Testing

@testable import HeadgateCommand

@Suite struct TallyTests {
  private func status(_ failures: FailureClass...) -> Int32 {
    var tally = Tally()
    tally.succeed(bytes: 1)
    for failure in failures { tally.fail(failure) }
    return tally.exitStatus.rawValue
  }

  @Test func `Success has the exit status 0`() {
    #expect(status() == 0)
    #expect(Tally().exitStatus == .ok)
  }

  @Test(arguments: zip(FailureClass.allCases, [2, 3, 4, 5, 6, 8] as [Int32]))
  func `Each class has its exit status, for any number of failures`(failure: FailureClass, expected: Int32) {
    #expect(status(failure) == expected)
    #expect(status(failure, failure) == expected)
  }

  @Test func `Mixed classes have the exit status 1`() {
    #expect(status(.http, .network) == 1)
    #expect(status(.usage, .http) == 1)
  }

  @Test func `A fault of the run counts like a failure`() {
    var tally = Tally()
    tally.note(.file)
    #expect(tally.exitStatus == .file)
    tally.fail(.file)
    #expect(tally.exitStatus == .file)
    tally.fail(.http)
    #expect(tally.exitStatus == .mixed)
    #expect(tally.failed == 2)
  }

  @Test func `Skipped URLs are not failures, and an interrupt takes precedence`() {
    var tally = Tally()
    tally.skip()
    #expect(tally.exitStatus == .ok)
    tally.fail(.http)
    tally.isInterrupted = true
    #expect(tally.exitStatus.rawValue == 130)
  }

  @Test(arguments: [Tally.Part.unknown, .unknownBefore])
  func `An unknown outcome takes precedence over failures, and an interrupt over both`(part: Tally.Part) {
    var tally = Tally()
    tally.fail(.http)
    tally.fail(.network)
    tally[part] += 1
    #expect(tally.exitStatus.rawValue == 9)
    tally.isInterrupted = true
    #expect(tally.exitStatus.rawValue == 130)
  }

  @Test func `What has ended is counted once, in whatever way it ended`() {
    var tally = Tally()
    tally.succeed(bytes: 7)
    tally[.verified] += 1
    tally.fail(.network)
    tally[.unreachable] += 1
    tally.skip(2)
    for part in [.unknown, .doneBefore, .failedBefore, .unknownBefore, .excluded, .elsewhere] as [Tally.Part] {
      tally[part] += 1
    }
    #expect(tally.done == 10 && tally.requested == 3 && tally.unsuccessful == 2)
    #expect(
      tally.summary(seconds: 1, peak: 1)
        == "ok 1  failed 1  unknown 1  verified 1  done before 1  failed before 1  unknown before 1  excluded 1  "
        + "in other parts 1  unreachable 1  skipped 2  bytes 7 B  1.00 s  peak 1/host")
  }

  @Test func `The summary names the non-zero counts`() {
    var tally = Tally()
    for _ in 0..<982 { tally.succeed(bytes: 1_312_000) }
    for _ in 0..<12 { tally.fail(.http) }
    #expect(tally.summary(seconds: 41.2, peak: 4) == "ok 982  failed 12  bytes 1.2 GiB  41 s  peak 4/host")
    tally.skip()
    #expect(
      tally.summary(seconds: 0.1, peak: 4) == "ok 982  failed 12  skipped 1  bytes 1.2 GiB  0.10 s  peak 4/host"
    )
  }

  @Test func `Unread lines are skipped too, as far as they can be counted`() {
    var tally = Tally()
    tally.skip(7)
    #expect(tally.summary(seconds: 1, peak: 1).contains("  skipped 7  "))
    tally.skip(nil)
    #expect(tally.summary(seconds: 1, peak: 1).contains("  skipped 7+  "))
  }

  @Test func `Every error code has a class, except those of cancellation`() {
    #expect(FailureClass(.cancelled) == nil)
    #expect(FailureClass(.shutDown) == nil)
    #expect(FailureClass(.fileFailed) == .file)
    #expect(FailureClass(.tlsFailed) == .tls)
    for code in [.redirectRefused, .tooManyRedirects, .badRedirect] as [DispatchError.Code] {
      #expect(FailureClass(code) == .http)
    }
    for code in [.timedOut, .deadlineExceeded, .connectTimedOut, .idleTimedOut] as [DispatchError.Code] {
      #expect(FailureClass(code) == .time)
    }
    for code in [.nameNotResolved, .connectFailed, .connectionLost, .badResponse] as [DispatchError.Code] {
      #expect(FailureClass(code) == .network)
    }
  }
}
