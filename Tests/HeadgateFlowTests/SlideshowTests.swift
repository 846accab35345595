import HeadgateTesting
import HeadgateThreads
import Testing

/// A slideshow that keeps ten images ahead: a producer keeps a bounded queue full while the viewer takes from it.
@Suite struct SlideshowTests {
  @Test("The producer is ten images ahead of the viewer, never more, and the viewer sees all in order")
  func tenAhead() async throws {
    let queue = try BlockingQueue<Int>(name: "images", capacity: 10)
    let loaded = Record<Int>()
    let producer = try startThread {
      for image in 0..<50 {
        loaded.add(image)
        try queue.put(image)
      }
      queue.close()
    }
    for shown in 0..<50 {
      // Ten wait in the queue, and the producer holds the next one until there is room.
      await loaded.wait(for: min(shown + 11, 50))
      #expect(loaded.events.count <= shown + 11)
      #expect(try await queue.take() == shown)
    }
    try await producer.value().get()
    await #expect(throws: WaitError.self) { try await queue.take() }
  }
}
