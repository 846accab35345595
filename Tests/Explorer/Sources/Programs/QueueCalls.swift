import HeadgateThreads

/// How a call on a queue ended.
public enum CallOutcome: Equatable, Sendable {
  case done, took(Int), closed, timedOut, nothing
  /// A check of a queue that found no element, whether it was closed or not.
  case empty
}

/// The calls of a queue, compiled to be explored.
public enum QueueCalls {
  /// How a select ended.
  public enum SelectOutcome {
    case took(index: Int, Int), closed, timedOut
  }

  /// Puts a value; waits for a place until the deadline.
  public static func put(_ value: Int, into queue: BlockingQueue<Int>, until deadline: Deadline) -> CallOutcome {
    do throws(WaitError) {
      try queue.put(value, until: deadline) as Void
      return .done
    } catch { return outcome(error) }
  }

  /// Takes a value; waits for one until the deadline.
  public static func take(from queue: BlockingQueue<Int>, until deadline: Deadline) -> CallOutcome {
    do throws(WaitError) { return .took(try queue.take(until: deadline)) } catch { return outcome(error) }
  }

  /// Puts a value if there is a place immediately.
  public static func tryPut(_ value: Int, into queue: BlockingQueue<Int>) -> CallOutcome {
    do throws(WaitError) {
      let isIn: Bool = try queue.tryPut(value)
      return isIn ? .done : .nothing
    } catch { return .closed }
  }

  /// Takes a value if there is one immediately.
  public static func tryTake(from queue: BlockingQueue<Int>) -> CallOutcome {
    do throws(WaitError) {
      guard let value = try queue.tryTake() else { return .nothing }
      return .took(value)
    } catch { return .closed }
  }

  /// Takes a value from the first queue that has one.
  public static func select(from queues: [BlockingQueue<Int>], until deadline: Deadline) -> SelectOutcome {
    do throws(WaitError) {
      let cases = queues.enumerated().map { index, queue in queue.onTake { SelectOutcome.took(index: index, $0) } }
      return try HeadgateThreads.select(cases, until: deadline)
    } catch { return error.code == .closed ? .closed : .timedOut }
  }

  private static func outcome(_ error: WaitError) -> CallOutcome {
    error.code == .closed ? .closed : .timedOut
  }
}
