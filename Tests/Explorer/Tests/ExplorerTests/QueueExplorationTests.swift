import Exploring
import HeadgateThreads
import Testing

extension Explorations {
  /// Small scripts of operations on queues, in every interleaving up to the bound: none hangs, and each history is
  /// linearizable.
  @Suite struct QueueExplorationTests {
    static let scripts: [QueueScript] = [
      .init("one puts, one takes", 2, [[.put(1), .put(2)], [.take, .take]]),
      .init("a place for one", 1, [[.put(1), .put(2)], [.take, .take]]),
      .init("two put, one takes", 1, [[.put(1)], [.put(2)], [.take, .take]]),
      .init("one puts, two take", 4, [[.put(1), .put(2)], [.take], [.take]]),
      .init("both try", 1, [[.tryPut(1), .tryPut(2)], [.tryTake, .tryTake]]),
      .init("a take that may time out, beside one that waits", 2, [[.put(1)], [.takeSoon], [.tryPut(2), .take]]),
      .init("a put that may time out", 1, detours: 2, [[.put(1), .putSoon(2)], [.takeSoon], [.tryTake]]),
      .init("closed while one waits to take", 2, [[.take], [.put(1), .close]]),
      .init("closed while one waits to put", 1, [[.put(1), .put(2)], [.close], [.tryTake]]),
      .init("closed beside a take", 1, [[.take], [.close]]),
      .init("closed, and what is there is taken", 2, [[.put(1), .close], [.take, .take]]),
    ]

    static let meetings: [QueueScript] = [
      .init("one meets one, twice", 0, [[.put(1), .put(2)], [.take, .take]]),
      .init("two put, one takes", 0, [[.put(1)], [.put(2)], [.take, .take]]),
      .init("one puts, two take", 0, [[.put(1), .put(2)], [.take], [.take]]),
      .init("both try", 0, [[.tryPut(1), .tryPut(2)], [.tryTake, .takeSoon]]),
      .init("a try finds who waits to take", 0, [[.take], [.tryPutToTaker(1)]]),
      .init("a try finds who waits to put", 0, [[.put(1)], [.tryTakeFromPutter]]),
      .init("a take that may time out", 0, [[.tryPut(1)], [.takeSoon], [.tryPut(2)]]),
      .init("a put that may time out, beside one that waits", 0, [[.putSoon(1)], [.put(2)], [.take, .close]]),
      .init("a take that may time out, beside one that waits", 0, [[.takeSoon], [.take], [.put(1), .close]]),
      .init("both may time out", 0, [[.putSoon(1)], [.takeSoon]]),
      .init("closed while one waits to take", 0, [[.take], [.tryPut(1), .close]]),
      .init("closed while one waits to put", 0, [[.put(1)], [.tryTake, .close]]),
      .init("closed beside a meeting", 0, [[.put(1)], [.take], [.close]]),
      .init("closed beside a put that may time out", 0, [[.putSoon(1)], [.close], [.tryTake]]),
    ]

    static let selections: [QueueScript] = [
      .init("each of two queues has one", [1, 1], [[.select, .select], [.put(1)], [.at(1, .put(2))]]),
      .init("beside a taker", [1, 1], detours: 1, [[.select], [.take], [.put(1), .put(2), .at(1, .put(3))]]),
      .init("beside a taker that may time out", [1, 1], detours: 1, [[.select], [.takeSoon], [.put(1), .put(2)]]),
      .init(
        "beside a taker at the other queue", [2, 2],
        [[.selectReplacing(3)], [.at(1, .take)], [.at(1, .put(1)), .put(2)]]),
      .init("two select", [2, 2], detours: 1, [[.select], [.select], [.put(1), .at(1, .put(2))]]),
      .init("both may time out, one of them selects", [1, 1], detours: 1, [[.selectSoon], [.takeSoon], [.put(1)]]),
      .init("one is closed", [1, 1], [[.select], [.close], [.at(1, .put(1))]]),
      .init("both are closed", [1, 1], [[.select], [.close, .at(1, .close)]]),
      .init(
        "one is closed after its last element", [1, 1], [[.select, .select], [.put(1), .close, .at(1, .close)]]),
      .init("one is closed after its last element, the other stays open", [1, 1], [[.select], [.put(1), .close]]),
      .init("one of two has no places", [0, 1], [[.select, .select], [.put(1)], [.at(1, .put(2))]]),
      .init("neither has places", [0, 0], [[.select, .select], [.put(1)], [.at(1, .put(2))]]),
      .init("neither has places, and both are closed", [0, 0], [[.select], [.putSoon(1)], [.close, .at(1, .close)]]),
      .init("beside a taker, without places", [0, 0], [[.select], [.take], [.put(1), .put(2)]]),
      .init("a putter without places may time out", [0, 1], [[.selectSoon], [.putSoon(1)], [.at(1, .tryPut(2))]]),
      .init("one without places is closed", [0, 0], [[.select], [.close], [.at(1, .put(1))]]),
    ]

    @Test(
      "P03 every interleaving of a script is a valid history of a queue, and none hangs", arguments: scripts.indices)
    func linearizable(index: Int) throws {
      #expect(try Self.scripts[index].explore() > 5, "\(Self.scripts[index].name)")
    }

    @Test(
      "P05 every interleaving of a script with capacity 0 pairs puts and takes, and none hangs",
      arguments: meetings.indices)
    func meets(index: Int) throws {
      #expect(try Self.meetings[index].explore() > 5, "\(Self.meetings[index].name)")
    }

    @Test(
      "P11 every interleaving of selects takes each element once, and passes on wake-ups that are not used",
      arguments: selections.indices)
    func selects(index: Int) throws {
      #expect(try Self.selections[index].explore() > 5, "\(Self.selections[index].name)")
    }
  }
}
