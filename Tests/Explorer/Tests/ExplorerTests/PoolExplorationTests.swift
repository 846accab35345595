import Exploring
import Testing

extension Explorations {
  /// Small scripts of operations on a pool, in every interleaving up to the bound: none hangs, each accepted task ends
  /// exactly once, and no thread and no task is left.
  @Suite struct PoolExplorationTests {
    static let scripts: [PoolScript] = [
      .init(name: "one after another", threads: [[.execute(1), .execute(2), .dispose, .waitForEnd]]),
      .init(name: "a handful", threads: [[.execute(1), .execute(2), .execute(3), .execute(4), .dispose]]),
      .init(name: "a handful for two", size: 2, threads: [[.execute(1), .execute(2), .execute(3), .dispose]]),
      .init(
        name: "waited for", size: 2, detours: 1, usualDetours: 2,
        threads: [[.submit(1), .submit(2), .wait(2), .wait(1), .dispose]]),
      .init(name: "drained beside a submit", threads: [[.submit(1), .wait(1), .submit(2)], [.dispose, .waitForEnd]]),
      .init(name: "drained beside two", size: 2, threads: [[.submit(1), .wait(1), .execute(2)], [.dispose]]),
      .init(
        name: "disposed beside a submit", threads: [[.submit(1), .submit(2), .wait(2)], [.disposeNow, .waitForEnd]]),
      .init(name: "disposed twice", threads: [[.submit(1), .dispose], [.disposeNow, .waitForEnd]]),
      .init(name: "disposed by a task", threads: [[.execute(1, [.execute(3), .dispose]), .execute(2), .waitForEnd]]),
      .init(name: "dropped by a task", threads: [[.execute(1, [.disposeNow]), .submit(2), .wait(2), .waitForEnd]]),
      .init(
        name: "a task from a task", size: 2, detours: 2,
        threads: [[.execute(1, [.submit(2), .execute(3)])], [.dispose]]),
      .init(
        name: "a task waits for a task",
        threads: [[.execute(1, [.submit(2), .wait(2)]), .submit(3), .wait(3), .dispose]]),
      .init(name: "cancelled as it starts", threads: [[.submit(1), .cancel(1), .wait(1)], [.dispose]]),
      .init(
        name: "cancelled behind another", threads: [[.submit(1), .submit(2), .cancel(2), .wait(1), .wait(2), .dispose]]),
      .init(name: "cancelled and waited for", threads: [[.submit(1), .wait(1), .dispose], [.cancel(1)]]),
    ]

    static let idling: [PoolScript] = [
      .init(
        name: "idle between two", idleTime: .seconds(1), threads: [[.submit(1), .wait(1), .submit(2), .wait(2)]]),
      .init(
        name: "idle beside another", idleTime: .seconds(1), detours: 1, usualDetours: 2,
        threads: [[.submit(1), .wait(1)], [.submit(2), .wait(2)]]),
      .init(
        name: "two idle", size: 2, idleTime: .seconds(1), detours: 0, usualDetours: 2,
        threads: [[.submit(1), .submit(2), .wait(2), .wait(1), .submit(3)]]),
      .init(
        name: "idle, then drained", idleTime: .seconds(1),
        threads: [[.execute(1), .execute(2)], [.dispose, .waitForEnd]]),
      .init(name: "no time to idle", idleTime: .zero, threads: [[.submit(1), .wait(1), .submit(2)], [.execute(3)]]),
    ]

    static let bounded: [PoolScript] = [
      .init(name: "no place to wait", bound: 0, threads: [[.submit(1), .submit(2), .dispose]]),
      .init(
        name: "two wait for room", bound: 0, detours: 2,
        threads: [[.execute(1), .execute(2), .dispose], [.execute(3)]]),
      .init(
        name: "room by a cancel", bound: 1, threads: [[.submit(1), .submit(2), .cancel(2)], [.execute(3), .dispose]]),
      .init(
        name: "drained beside one that waits", bound: 0,
        threads: [[.execute(1), .execute(2)], [.dispose, .waitForEnd]]),
      .init(
        name: "disposed beside one that waits", bound: 0, detours: 2,
        threads: [[.submit(1), .submit(2), .wait(2)], [.disposeNow, .waitForEnd]]),
    ]

    static let refused: [PoolScript] = [
      .init(name: "no thread at first", refusals: 1, threads: [[.submit(1), .submit(2), .wait(2), .dispose]]),
      .init(name: "no thread for two", refusals: 1, threads: [[.execute(1)], [.submit(2), .wait(2), .dispose]]),
      .init(
        name: "no second thread", size: 2, refusals: 1, detours: 1,
        threads: [[.execute(1)], [.submit(2), .wait(2)], [.dispose]]),
    ]

    @Test(
      "P50 P53 every interleaving of submissions and disposals ends every task once, and wakes a worker for it",
      arguments: scripts.indices)
    func endsOnce(index: Int) throws {
      #expect(try Self.scripts[index].explore() > 5, "\(Self.scripts[index].name)")
    }

    @Test("P50 in no interleaving is a task lost to a worker whose idle time ends", arguments: idling.indices)
    func idles(index: Int) throws {
      #expect(try Self.idling[index].explore() > 5, "\(Self.idling[index].name)")
    }

    @Test(
      "P57 in every interleaving a submitter that waits for room gets it, or is notified of the end",
      arguments: bounded.indices)
    func waitsForRoom(index: Int) throws {
      #expect(try Self.bounded[index].explore() > 5, "\(Self.bounded[index].name)")
    }

    @Test(
      "P33 if a thread is refused, in every interleaving a task is returned or runs on the next thread",
      arguments: refused.indices)
    func refusal(index: Int) throws {
      #expect(try Self.refused[index].explore() > 5, "\(Self.refused[index].name)")
    }
  }
}
