#if canImport(Glibc)
import Foundation
import Glibc
import HeadgateThreads

/// The resources of a process, for tests that run in a separate one.
struct ProcessCensus: CustomStringConvertible {
  /// The names of its threads.
  var names: [String]
  var descriptors: Int
  /// Bytes allocated by malloc. 0 under a sanitizer, which has its own allocator.
  var bytes: Int

  var threads: Int { names.count }

  static var now: ProcessCensus {
    let names = entries("/proc/self/task").map { task in
      let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
      return name?.trimmingCharacters(in: .newlines) ?? "gone"
    }
    return ProcessCensus(names: names.sorted(), descriptors: entries("/proc/self/fd").count, bytes: bytesInUse())
  }

  // glibc's malloc_info, whose header Swift's module of glibc lacks. It returns XML, whose end covers all arenas.
  private typealias MallocInfo = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
  private static let mallocInfo = dlsym(nil, "malloc_info").map { unsafeBitCast($0, to: MallocInfo.self) }

  private static func bytesInUse() -> Int {
    var (text, length): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    guard let mallocInfo, let file = open_memstream(&text, &length) else { return 0 }
    _ = mallocInfo(0, file)
    fclose(file)
    defer { free(text) }
    guard let text, let total = String(cString: text).components(separatedBy: "</heap>").last else { return 0 }
    func size(_ element: String) -> Int {
      guard let line = total.split(separator: "\n").first(where: { $0.hasPrefix(element) }),
        let number = line.components(separatedBy: "size=\"").last?.prefix(while: \.isNumber)
      else { return 0 }
      return Int(number) ?? 0
    }
    let free = size("<total type=\"fast\"") + size("<total type=\"rest\"")
    return size("<system type=\"current\"") - free + size("<total type=\"mmap\"")
  }

  var description: String {
    "\(threads) threads (\(names.joined(separator: ", "))), \(descriptors) descriptors, \(bytes) bytes"
  }

  /// What a thousand rounds leave behind. Nil: nothing. Ending threads get time to finish.
  static func leftover(after round: (Int) throws -> Void) rethrows -> String? {
    // By then, objects that are made once for the process exist.
    for number in 0..<200 { try round(number) }
    let before = settled()
    for number in 0..<1000 { try round(number) }
    // Less than the size of any leaked object. Allocators keep some memory for each of their arenas.
    let mostBytes = before.bytes + 24 * 1000
    let limit = Deadline.after(generous)
    var after = now
    // A thread that is about to exit may have to wait long for a processor, so a census that does not change is not
    // the last one.
    while after.threads > before.threads || after.descriptors > before.descriptors || after.bytes > mostBytes {
      if limit <= .now { return "before: \(before); after: \(after)" }
      usleep(1000)
      after = now
    }
    return nil
  }

  /// The census once nothing seems to change any more. A thread that ends later only allows for one more afterwards.
  private static func settled() -> ProcessCensus {
    var last = now
    var same = 0
    for _ in 0..<2000 where same < 20 {
      usleep(1000)
      let next = now
      same = next.threads == last.threads && next.descriptors == last.descriptors ? same + 1 : 0
      last = next
    }
    return last
  }

  /// How often threads with this name prefix were scheduled, by number. An idle thread's count does not change.
  static func switches(of name: String) -> [String: String] {
    var counts: [String: String] = [:]
    for thread in threads(of: name) {
      counts[thread] = text("/proc/self/task/\(thread)/status").split(separator: "\n")
        .filter { $0.contains("ctxt_switches") }.joined(separator: " ")
    }
    return counts
  }

  /// Whether all threads with this name prefix sleep. One that waits for a processor does not.
  static func areAsleep(_ name: String) -> Bool {
    threads(of: name).allSatisfy { text("/proc/self/task/\($0)/status").contains("State:\tS") }
  }

  private static func threads(of name: String) -> [String] {
    entries("/proc/self/task").filter { text("/proc/self/task/\($0)/comm").hasPrefix(name) }
  }

  private static func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

/// Ends a process made by a test, with success if there is nothing to report.
func exit(saying problem: String?) -> Never {
  guard let problem else { exit(0) }
  let text = Array((problem + "\n").utf8)
  _ = write(2, text, text.count)
  exit(1)
}
#endif
