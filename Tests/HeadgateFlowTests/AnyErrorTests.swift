import HeadgateFlow
import Testing

/// Functions whose errors have no one type, as closures are that nobody wrote a type for.
@Suite struct AnyErrorTests {
  private static func function(_ number: Int) -> @Sendable () async throws -> String {
    { @Sendable in
      await Task.yield()
      if number < 0 { throw Oops(number: number) }
      return "text number \(number)"
    }
  }

  private static func functions(_ numbers: [Int]) -> [@Sendable () async throws -> String] { numbers.map(function) }

  private func numbers(_ error: FlowError<any Error>) -> [Int?] { error.failures.map { ($0 as? Oops)?.number } }

  @Test("All failed: each error comes as it was thrown", arguments: [Losers.join, .abandon])
  func first(losers: Losers) async throws {
    do throws(FlowError<any Error>) {
      _ = try await firstToSucceed(losers: losers, Self.functions([-1, -2, -3]))
      Issue.record("something succeeded")
    } catch {
      #expect(error.code == .allFailed)
      #expect(numbers(error) == [-1, -2, -3])
    }
    #expect(try await firstToSucceed(losers: losers, Self.functions([-1, 2, -3])) == "text number 2")
  }

  @Test("The first failure of all comes as it was thrown", arguments: [Losers.join, .abandon])
  func all(losers: Losers) async throws {
    do throws(FlowError<any Error>) {
      _ = try await allSucceed(atMost: 1, losers: losers, Self.functions([1, -2, -3]))
      Issue.record("all succeeded")
    } catch {
      #expect(error.code == .failed)
      #expect(numbers(error) == [-2])
    }
    #expect(try await allSucceed(losers: losers, Self.functions([1, 2])) == ["text number 1", "text number 2"])
  }

  @Test("Settled, race, quorum, match: errors come as they were thrown")
  func others() async throws {
    let ends = try await allSettled(Self.functions([1, -2]))
    #expect(try ends[0].get() == "text number 1")
    if case .failure(let error) = ends[1] { #expect(numbers(error) == [-2]) } else { Issue.record("no failure") }
    do throws(FlowError<any Error>) {
      _ = try await race(Self.functions([-7]))
      Issue.record("something succeeded")
    } catch {
      #expect(numbers(error) == [-7])
    }
    do throws(FlowError<any Error>) {
      _ = try await quorum(1, of: Self.functions([-7]))
      Issue.record("something succeeded")
    } catch {
      #expect(numbers(error) == [-7])
    }
    do throws(FlowError<any Error>) {
      _ = try await firstMatching(Self.functions([-7])) { _ in true }
      Issue.record("something succeeded")
    } catch {
      #expect(numbers(error) == [-7])
    }
  }

  @Test("Fixed numbers of functions: errors come as they were thrown")
  func fixed() async throws {
    let (one, two) = (Self.function(1), Self.function(-2))
    do throws(FlowError<any Error>) {
      _ = try await allSucceed(one, two)
      Issue.record("both succeeded")
    } catch {
      #expect(numbers(error) == [-2])
    }
    let (first, second) = try await firstToSucceed(one, two)
    #expect((first, second) == ("text number 1", nil))
  }

  @Test("Retry, deadline, hedge, map: errors come as they were thrown")
  func single() async throws {
    let fails = Self.function(-5)
    do throws(FlowError<any Error>) {
      _ = try await retry(attempts: 2, backoff: .none) { try await fails() }
    } catch {
      #expect(numbers(error) == [-5, -5])
    }
    do throws(FlowError<any Error>) {
      _ = try await hedged(after: .zero) { try await fails() }
    } catch {
      #expect(numbers(error).allSatisfy { $0 == -5 })
    }
    do throws(FlowError<any Error>) {
      _ = try await [1, 2].mapConcurrently(limit: 1) { _ in try await fails() }
    } catch {
      #expect(numbers(error) == [-5])
    }
  }
}
