import HeadgateThreads

/// Five items, put a moment apart by one thread and taken by another, which waits at most 10 s for each.
func items() throws {
  let queue = try BlockingQueue<String>(name: "items", capacity: 10)

  let producer = try ManagedThread.spawn(name: "producer") { () throws(WaitError) in
    for number in 1...5 {
      try ManagedThread.sleep(for: .milliseconds(200))
      try queue.put("item \(number)")
      print("put    item \(number)")
    }
    queue.close()
  }

  do throws(WaitError) {
    while true { print("taken ", try queue.take(until: .after(.seconds(10)))) }
  } catch {
    // `closed` after the last item; it would be `timed_out` if no item had arrived for 10 s.
    print("the end:", error.code)
  }
  try producer.join()
}
