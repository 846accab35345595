import HeadgateGate
import HeadgateLibC

/// The processes that hold permits, as the system sees them: those that have the pipes open for writing. Linux only, and
/// only those that this process may look into.
enum PermitProcesses {
  /// The processes that hold each of some permits, the oldest first.
  static func holding(_ permits: Set<UInt64>, in folder: PermitFolder) -> [UInt64: [Int32]] {
    #if os(Linux)
    var pipes: [FileID: UInt64] = [:]
    for permit in permits {
      if let pipe = FileID(folder.pipe(permit)) { pipes[pipe] = permit }
    }
    guard !pipes.isEmpty else { return [:] }
    var found: [UInt64: [(process: Int32, start: UInt64)]] = [:]
    for process in (SmallFile.names(in: "/proc") ?? []).compactMap({ Int32($0) }) {
      let held = Set(descriptors(of: process).compactMap { pipes[$0] })
      for permit in held { found[permit, default: []].append((process, start(of: process))) }
    }
    return found.mapValues { $0.sorted { ($0.start, $0.process) < ($1.start, $1.process) }.map(\.process) }
    #else
    return [:]
    #endif
  }

  /// A process's program and arguments, separated by spaces, shortened. Nil if it has ended, or can't be looked into.
  static func command(of process: Int32) -> String? {
    #if os(Linux)
    guard let bytes = try? SmallFile.read("/proc/\(process)/cmdline"), !bytes.isEmpty else { return nil }
    let words = bytes.prefix(1000).split(separator: 0, omittingEmptySubsequences: false)
    let text = words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    return text.hasSuffix(" ") ? String(text.dropLast()) : text
    #else
    return nil
    #endif
  }

  #if os(Linux)
  private struct FileID: Hashable {
    let device: dev_t
    let number: ino_t

    init?(_ path: String) {
      var info = stat()
      guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFIFO else { return nil }
      (device, number) = (info.st_dev, info.st_ino)
    }
  }

  /// The pipes that a process has open for writing. The server has them open for reading.
  private static func descriptors(of process: Int32) -> [FileID] {
    let folder = "/proc/\(process)/fd"
    return (SmallFile.names(in: folder) ?? []).compactMap { name in
      var link = stat()
      // The rights of the link are those of the descriptor.
      guard lstat("\(folder)/\(name)", &link) == 0, link.st_mode & S_IWUSR != 0 else { return nil }
      return FileID("\(folder)/\(name)")
    }
  }

  /// When a process was started, in ticks since the machine was. Zero if it has ended.
  private static func start(of process: Int32) -> UInt64 {
    guard let bytes = try? SmallFile.read("/proc/\(process)/stat") else { return 0 }
    // The second word is the program's name in brackets, which may contain spaces and brackets. The 22nd is the start.
    let rest = String(decoding: bytes, as: UTF8.self).split(separator: ")").last ?? ""
    let words = rest.split(separator: " ")
    return words.count > 19 ? UInt64(words[19]) ?? 0 : 0
  }
  #endif
}
