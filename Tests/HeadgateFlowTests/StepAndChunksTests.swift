import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Named steps, and sources that are sent piece by piece.
@Suite struct StepAndChunksTests {
  /// A file that is removed with its test.
  private final class TemporaryFile: Sendable {
    let path: String

    init(_ bytes: [UInt8]) throws {
      var template = Array("/tmp/headgate-flow-XXXXXX".utf8CString)
      let descriptor = mkstemp(&template)
      try #require(descriptor >= 0)
      path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      try #require(write(descriptor, bytes, bytes.count) == bytes.count)
      close(descriptor)
    }

    deinit { unlink(path) }

    func append(_ bytes: [UInt8]) throws {
      let descriptor = open(path, O_WRONLY | O_APPEND)
      defer { close(descriptor) }
      try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    func shorten(to count: Int) throws { try #require(truncate(path, off_t(count)) == 0) }
  }

  private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

  // MARK: Steps

  @Test("An error carries the name of the step where it happened, and of the steps around it")
  func steps() async throws {
    #expect(try step("fine") { 1 } == 1)
    #expect(
      try await step("fine") {
        await Task.yield(); return 2
      } == 2)
    let error = await #expect(throws: StepError.self) {
      try await step("upload") { () async throws(StepError) in
        try await step("part 3") { () async throws -> Int in throw Oops(number: 3) }
      }
    }
    #expect(error?.step == "upload" && error?.path == ["upload", "part 3"])
    #expect(error?.cause as? Oops == Oops(number: 3))
    #expect(error?.description.hasPrefix("upload > part 3 failed after ") == true)
    let onThread = try await onThread {
      do throws(StepError) {
        try step("log in") { () throws(Oops) in throw Oops(number: 1) }
        return ""
      } catch {
        return error.step
      }
    }
    #expect(onThread == "log in")
  }

  @Test("A step on an actor stays on it")
  @MainActor func stepOnActor() async throws {
    try await step("here") {
      await Task.yield()
      MainActor.assertIsolated()
    }
  }

  @Test("A callback function in a step: its failure has the name, and so does a released completion")
  func callbackStep() async {
    for function: CallbackFunction<Int> in [{ $0.fail(Oops(number: 4)) }, { _ in }] {
      let error = await #expect(throws: StepError.self) { try await step("load") { try await awaitCallback(function) } }
      #expect(error?.step == "load")
      #expect(error?.cause as? Oops == Oops(number: 4) || (error?.cause as? FlowError)?.code == .completionReleased)
    }
  }

  // MARK: Files

  @Test("A file is sent in order, in pieces of the size except for the last; progress is reported for each")
  func file() async throws {
    for (count, sizes) in [(0, []), (1, [1]), (10, [10]), (25, [10, 10, 5])] {
      let file = try TemporaryFile(Self.bytes(count))
      let (chunks, progress) = (Record<Chunk>(), Record<ChunkProgress>())
      let sent = try await sendChunks(ofFile: file.path, size: 10, progress: { progress.add($0) }) {
        chunk in chunks.add(chunk)
      }
      #expect(sent == count)
      #expect(chunks.events.map(\.bytes.count) == sizes)
      #expect(chunks.events.flatMap(\.bytes) == Self.bytes(count))
      #expect(chunks.events.map(\.offset) == sizes.indices.map { $0 * 10 })
      #expect(progress.events == chunks.events.map { ChunkProgress(sent: $0.end, total: count) })
    }
  }

  @Test("It stops at the first failure with the offset reached, and resumes from there")
  func resume() async throws {
    let file = try TemporaryFile(Self.bytes(25))
    let sent = Record<Chunk>()
    let error = await #expect(throws: FlowError.self) {
      try await sendChunks(ofFile: file.path, size: 10) { chunk async throws in
        if chunk.offset == 10 { throw Oops(number: 4) }
        sent.add(chunk)
      }
    }
    #expect(error?.code == .failed && error?.oops == Oops(number: 4) && error?.offset == 10)
    let offset = try #require(error?.offset)
    try await sendChunks(ofFile: file.path, size: 10, from: offset) { chunk async throws in sent.add(chunk) }
    #expect(sent.events.flatMap(\.bytes) == Self.bytes(25))

    let source = AsyncSequenceAdapter(base: [3, 9, 1, 12]).map { Self.bytes($0) }
    let whole = [3, 9, 1, 12].flatMap { Self.bytes($0) }
    let rest = Record<Chunk>()
    let count = try await sendChunks(of: source, size: 10, from: 5) { chunk async throws in rest.add(chunk) }
    #expect(count == 25 && rest.events.flatMap(\.bytes) == Array(whole[5...]))
    #expect(rest.events.map(\.offset) == [5, 15])
  }

  @Test("Invalid sizes and offsets are refused; the end of the file is a valid offset")
  func arguments() async throws {
    let file = try TemporaryFile(Self.bytes(5))
    let source = AsyncSequenceAdapter(base: [Self.bytes(5)])
    let send: @Sendable (Chunk) async throws -> Void = { _ async throws in throw Oops() }
    for (size, offset) in [(0, 0), (-1, 0), (5, -1), (5, 6)] {
      let error = await #expect(throws: FlowError.self) {
        try await sendChunks(ofFile: file.path, size: size, from: offset, send)
      }
      #expect(error?.code == .invalidArgument)
      let other = await #expect(throws: FlowError.self) {
        try await sendChunks(of: source, size: size, from: offset, send)
      }
      #expect(other?.code == .invalidArgument)
    }
    #expect(try await sendChunks(ofFile: file.path, from: 5, send) == 5)
    #expect(try await sendChunks(of: source, from: 5, send) == 5)
  }

  @Test("A file that grows meanwhile is sent at its old length; one that shrinks ends with the offset reached")
  func changes() async throws {
    let growing = try TemporaryFile(Self.bytes(20))
    let sent = try await sendChunks(ofFile: growing.path, size: 10) { chunk async throws in
      do { try growing.append(Self.bytes(10)) } catch { throw Oops() }
    }
    #expect(sent == 20)
    let shrinking = try TemporaryFile(Self.bytes(30))
    let error = await #expect(throws: FlowError.self) {
      try await sendChunks(ofFile: shrinking.path, size: 10) { chunk async throws in
        do { try shrinking.shorten(to: 15) } catch { throw Oops() }
      }
    }
    #expect(error?.code == .sourceShrank && error?.offset == 10)
  }

  @Test("A missing file, a source that fails: an error with the underlying one")
  func sourceFails() async throws {
    let error = await #expect(throws: FlowError.self) {
      try await sendChunks(ofFile: "/nowhere/at/all") { _ async throws in }
    }
    #expect(error?.code == .sourceFailed)
    #expect((error?.underlyingError as? ChunkFileError)?.errno == ENOENT)
    let source = AsyncSequenceAdapter(base: [5, 5, -1]).map { number in
      if number < 0 { throw Oops(number: 9) }
      return Self.bytes(number)
    }
    let sent = Record<Int>()
    let later = await #expect(throws: FlowError.self) {
      try await sendChunks(of: source, size: 4) { chunk async throws in sent.add(chunk.bytes.count) }
    }
    #expect(later?.code == .sourceFailed && later?.underlyingError as? Oops == Oops(number: 9))
    #expect(later?.offset == 8 && sent.events == [4, 4])
  }

  /// Sends 35 bytes in tens: of a file, of a source, or by length. The first piece may ignore a cancellation.
  private static func sending(_ form: Int, _ file: TemporaryFile, _ hand: Hand<Void>, heeds: Bool = true) -> Task<
    Int, any Error
  > {
    Task {
      @Sendable func send(_ offset: Int) async throws {
        try await hand.async(offset, heeds: heeds || offset > 0)()
      }
      return switch form {
      case 0:
        try await sendChunks(ofFile: file.path, size: 10) { chunk async throws in try await send(chunk.offset) }
      case 1:
        try await sendChunks(of: AsyncSequenceAdapter(base: [bytes(35)]), size: 10) { chunk async throws in
          try await send(chunk.offset)
        }
      default:
        try await sendChunks(ofLength: 35, size: 10) { range async throws in try await send(range.lowerBound) }
      }
    }
  }

  @Test("P93 cancelled while a piece is being sent, which is finished: no other is sent", arguments: 0..<3)
  func cancelled(_ form: Int) async throws {
    let (file, hand) = (try TemporaryFile(Self.bytes(35)), Hand<Void>())
    let running = Self.sending(form, file, hand, heeds: false)
    await hand.started.wait(for: 1)
    running.cancel()
    await hand.cancelled.wait(for: 1)
    hand.end(0, .success(()))
    #expect(code(of: await running.result) == .cancelled)
    #expect(hand.started.events == [0])
  }

  @Test("P93 cancelled at every step, of a file, a source, a length, from a thread: no other is sent", arguments: 0..<4)
  func cancelledAtEveryStep(_ step: Int) async throws {
    let file = try TemporaryFile(Self.bytes(35))
    for form in 0..<3 {
      let hand = Hand<Void>()
      let running = Self.sending(form, file, hand)
      for number in 0..<step {
        await hand.started.wait(for: number + 1)
        hand.end(number * 10, .success(()))
      }
      await hand.started.wait(for: step + 1)
      running.cancel()
      #expect(code(of: await running.result) == .cancelled, "form \(form)")
      #expect(hand.ended.events.count == step + 1 && hand.started.events.count == step + 1)
    }
    let hand = Hand<Void>()
    let progress = Record<Int>()
    let waiting = try startThread {
      try waitForTask(until: generous) {
        try await sendChunks(ofFile: file.path, size: 10, progress: { progress.add($0.sent) }) { chunk in
          try await hand.awaited(chunk.offset, hookThrows: true)()
        }
      }
    }
    for number in 0..<step {
      await hand.started.wait(for: number + 1)
      hand.succeed(number * 10, ())
    }
    await hand.started.wait(for: step + 1)
    waiting.cancel()
    #expect(code(of: try await waiting.value()) == .cancelled)
    await hand.cancelled.wait(for: 1)
    #expect(hand.cancelled.events == [step * 10] && hand.started.events.count == step + 1)
    #expect(progress.events.last ?? 0 == step * 10, "from there it can be resumed")
    hand.drop(step * 10)
  }

  @Test("By length only: ranges in order, the failure's offset, and the rest from there; invalid numbers are refused")
  func ranges() async throws {
    let (sent, progress) = (Record<Range<Int>>(), Record<ChunkProgress>())
    let error = await #expect(throws: FlowError.self) {
      try await sendChunks(ofLength: 25, size: 10, progress: { progress.add($0) }) { range async throws in
        if range.lowerBound == 20 { throw Oops(number: 3) }
        sent.add(range)
      }
    }
    #expect(error?.offset == 20 && error?.oops == Oops(number: 3))
    #expect(sent.events == [0..<10, 10..<20] && progress.events.map(\.sent) == [10, 20])
    #expect(
      try await sendChunks(ofLength: 25, size: 10, from: 20) { range async throws in sent.add(range) } == 25)
    #expect(sent.events.last == 20..<25)
    #expect(try await sendChunks(ofLength: 0) { _ async throws in throw Oops() } == 0)
    for (total, size, offset) in [(5, 0, 0), (5, 1, -1), (5, 1, 6), (-1, 1, 0)] {
      let refused = await #expect(throws: FlowError.self) {
        try await sendChunks(ofLength: total, size: size, from: offset) { _ async throws in }
      }
      #expect(refused?.code == .invalidArgument)
    }
  }

  @Test("P98 a hundred thousand pieces: of a file by callbacks that answer at once, of a source, and by ranges")
  func many() async throws {
    let file = try TemporaryFile(Self.bytes(100_000))
    let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
      flowValue {
        // Without a deadline, since so many changes of threads may take minutes on a busy machine.
        try waitForTask {
          try await sendChunks(ofFile: file.path, size: 1) { _ in try await awaitCallback { $0.succeed() } }
        }
      }
    }
    #expect(try await thread.value() == 100_000)
    let source = AsyncSequenceAdapter(base: 0..<1000).map { _ in Self.bytes(100) }
    let sent = Record<Int>()
    let count = try await sendChunks(of: source, size: 1) { chunk async throws in
      if chunk.offset.isMultiple(of: 10_000) { sent.add(chunk.offset) }
    }
    #expect(count == 100_000 && sent.events.count == 10)
    #expect(try await sendChunks(ofLength: 100_000, size: 1) { _ async throws in } == 100_000)
  }

  @Test("Constant memory: of a file or a source no more is read than the current piece")
  func constantMemory() async throws {
    // Longer than any memory. It is sparse.
    let file = try TemporaryFile([])
    try file.shorten(to: 1 << 40)
    let error = await #expect(throws: FlowError.self) {
      try await sendChunks(ofFile: file.path, size: 100_000) { chunk async throws in
        if chunk.offset == 300_000 || chunk.bytes.count != 100_000 { throw Oops() }
      }
    }
    #expect(error?.offset == 300_000)
    let read = Record<Int>()
    let source = AsyncSequenceAdapter(base: 0..<1000).map { number in
      read.add(number)
      return Self.bytes(7)
    }
    try await sendChunks(of: source, size: 10) { chunk async throws in
      #expect(read.events.count * 7 - chunk.end < 7, "less than a piece of the source lies behind it")
    }
    #expect(read.events.count == 1000)
  }

  @Test("A piece that is being sent at the deadline is cancelled and awaited")
  func deadline() async throws {
    let file = try TemporaryFile(Self.bytes(30))
    let (clock, hand) = (ManualClock(), Hand<Void>())
    let deadline = clock.now + .seconds(1)
    let running = Task {
      try await sendChunks(ofFile: file.path, size: 10, from: 0, until: deadline, on: clock, progress: nil) {
        chunk async throws in try await hand.async(chunk.offset, heeds: false)()
      }
    }
    // A piece whose turn comes after the deadline is not sent.
    await hand.started.wait(for: 1)
    try await clock.timers(1)
    clock.advance(by: .seconds(1))
    await hand.cancelled.wait(for: 1)
    hand.end(0, .failure(Oops()))
    let error = flowError(await running.result)
    #expect(error?.code == .timedOut && error?.offset == 0 && hand.ended.events == [0])
    #expect(error?.waited == .seconds(1))
  }

  // MARK: Cutting

  @Test("Bytes are cut into new pieces, regardless of the old ones; nothing is lost, no piece is empty")
  func chunked() async throws {
    for seed in 0..<200 {
      var random = SeededRandom(seed: UInt64(seed))
      let pieces = (0..<Int.random(in: 0...8, using: &random)).map { _ in
        Self.bytes(Int.random(in: 0...9, using: &random))
      }
      let size = Int.random(in: 1...12, using: &random)
      var cut: [[UInt8]] = []
      for try await piece in AsyncSequenceAdapter(base: pieces).chunked(size: size) { cut.append(piece) }
      #expect(cut.flatMap { $0 } == pieces.flatMap { $0 }, "seed \(seed)")
      #expect(cut.dropLast().allSatisfy { $0.count == size } && cut.allSatisfy { (1...size).contains($0.count) })
      var single: [[UInt8]] = []
      for try await piece in AsyncSequenceAdapter(base: pieces.flatMap { $0 }).chunked(size: size) {
        single.append(piece)
      }
      #expect(single == cut, "seed \(seed)")
    }
  }
}
