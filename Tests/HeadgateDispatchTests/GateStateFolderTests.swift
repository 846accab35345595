import HeadgateLibC
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// The files of state that outlives the process.
@Suite struct GateStateFolderTests {
  private let folder: DownloadFolder
  private let time = LockedBox<Int64>(1_764_000_000_000)
  private let reports = Outcomes<String>()
  private let endPoint: EndPoint

  init() throws {
    folder = try DownloadFolder()
    endPoint = try EndPoint(host: "a.example", port: 443)
  }

  private var path: String { folder.path + "/state/of/gates" }
  private var file: String { path + "/a.example:443" }

  /// As of another process.
  private func state(_ path: String? = nil, capacity: Int = 10_000, patience: Int = 60_000) -> GateState {
    GateState(
      folder: path ?? self.path, capacity: capacity, patience: patience, report: { [reports] in reports.add($0) },
      wallClock: { [time] in time.withLock { $0 } })
  }

  private func pause(_ endPoint: EndPoint, for seconds: Int64, in state: GateState) {
    state.changeServer(of: endPoint) { $0.paused(until: $1 + seconds * 1000, status: 429, at: $1) }
  }

  private var files: [String] { folder.names(below: "state/of/gates").filter { $0.contains(":") } }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  @Test("a file and its folder are only the user's, and the file is removed when it is past")
  func past() throws {
    #expect(state().server(of: endPoint) == nil && folder.names.isEmpty)
    pause(endPoint, for: 60, in: state())
    #expect(mode(path) == 0o700 && mode(file) == 0o600 && files == ["a.example:443"])
    #expect(state().server(of: endPoint)?.pause?.until == 1_764_000_060_000)
    time.withLock { $0 += 60_000 }
    #expect(state().server(of: endPoint)?.pause == nil && files.isEmpty)
    #expect(reports.count == 0)
  }

  @Test("what is torn, foreign, from the future, a link or a pipe counts as nothing, and is removed")
  func foreign() throws {
    let state = state()
    pause(endPoint, for: 60, in: state)
    let text = String(decoding: folder.bytes("state/of/gates/a.example:443") ?? [], as: UTF8.self)
    for wrong in ["", "x", String(text.dropLast(3)), text + "\n", text.replacing("a.example", with: "b.example")] {
      try folder.write(Array(wrong.utf8), to: "state/of/gates/a.example:443")
      #expect(state.server(of: endPoint)?.pause == nil && files.isEmpty, "\(wrong)")
    }
    try folder.write(Array(text.utf8), to: "state/of/gates/a.example:443")
    time.withLock { $0 -= 20_000 }
    #expect(state.server(of: endPoint)?.pause == nil && files.isEmpty)
    time.withLock { $0 += 20_000 }
    try folder.write(Array(text.utf8), to: "elsewhere")
    #expect(symlink(folder.path + "/elsewhere", file) == 0)
    #expect(state.server(of: endPoint)?.pause == nil && files.isEmpty && folder.names.contains("elsewhere"))
    #expect(mkfifo(file, 0o600) == 0)
    #expect(state.server(of: endPoint)?.pause == nil && files.isEmpty)
    #expect(reports.count == 0)
  }

  @Test("processes that write at the same time lose nothing")
  func together() async throws {
    let bound = StartBound(units: 1000, length: 86_400_000, cause: .quota)
    // So many that each reserves only what it starts.
    let states = (0..<20).map { _ in state() }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { [endPoint] in
          let state = states[number % 20]
          if number < 20 {
            state.changeServer(of: endPoint) { $0.paused(until: $1 + 1000 * Int64(number), status: 429, at: $1) }
          } else {
            #expect(state.reserve([bound], at: endPoint) == nil)
          }
        }
      }
    }
    let known = Remembered(
      String(decoding: folder.bytes("state/of/gates/a.example:443") ?? [], as: UTF8.self), named: "a.example:443")
    #expect(known?.server.pause?.until == 1_764_000_019_000)
    #expect(known?.program.windows.map(\.starts) == [180])
    #expect(reports.count == 0)
  }

  @Test("there are never more files than the capacity: what is past goes first, then what ends first")
  func capacity() throws {
    let state = state(capacity: 40)
    for number in 1...10 { pause(try EndPoint(host: "past\(number).example", port: 1), for: 1, in: state) }
    time.withLock { $0 += 60_000 }
    // Waits in an order other than their ends'.
    for number in 1...200 {
      pause(try EndPoint(host: "h\(number).example", port: 1), for: Int64(100 + number * 37 % 200), in: state)
      #expect(files.count <= 40)
    }
    #expect(files.count > 30 && !files.contains { $0.hasPrefix("past") })
    // The longest waits are kept.
    let longest = (1...200).filter { $0 * 37 % 200 >= 190 }
    for number in longest {
      #expect(self.state().server(of: try EndPoint(host: "h\(number).example", port: 1))?.pause != nil)
    }
    #expect(reports.count == 0)
  }

  @Test("10,001 end-points have 10,000 files at most")
  func many() throws {
    pause(endPoint, for: 60, in: state())
    // Empty ones are made in no time. Theirs is the present, so that they end in an hour for a clock that is behind.
    for number in 1...10_000 { close(HeadgateLibC.open(path + "/h\(number).example:1", O_WRONLY | O_CREAT, 0o600)) }
    time.withLock { $0 = Int64(HTTPDate.now - 3600) * 1000 }
    let next = try EndPoint(host: "next.example", port: 443)
    pause(next, for: 7200, in: state())
    #expect(files.count == 9001 && state().server(of: next)?.pause != nil && reports.count == 0)
  }

  @Test("a folder that can't be used is reported once, and nothing is kept", arguments: ["", "x/y", "/dev/null/state"])
  func unusable(path: String) throws {
    let state = state(path)
    let bound = StartBound(units: 1, length: 86_400_000, cause: .quota)
    for _ in 0..<3 {
      pause(endPoint, for: 60, in: state)
      #expect(state.server(of: endPoint) == nil && state.reserve([bound], at: endPoint) == nil)
    }
    #expect(reports.count == 1)
  }

  @Test("a folder that is open to others is not used")
  func open() throws {
    #expect(chmod(folder.path, 0o755) == 0)
    let state = state(folder.path)
    pause(endPoint, for: 60, in: state)
    #expect(state.server(of: endPoint) == nil && folder.names.isEmpty && reports.count == 1)
  }

  @Test("a file that can't be written is reported once, and the old one stays")
  func unwritable() throws {
    let state = state()
    pause(endPoint, for: 60, in: state)
    try folder.makeFolder("state/of/gates/part")
    for _ in 0..<3 { pause(endPoint, for: 600, in: state) }
    #expect(state.server(of: endPoint)?.pause?.until == 1_764_000_060_000)
    #expect(reports.count == 1)
  }

  /// A device that is always full, in place of the file in which the next contents are written.
  private static var hasDevices: Bool {
    #if os(Linux)
    let path = "/tmp/headgate-full-\(getpid())"
    defer { unlink(path) }
    guard mknod(path, S_IFCHR | 0o600, fullDevice) == 0 else { return false }
    let opened = HeadgateLibC.open(path, O_WRONLY)
    if opened >= 0 { close(opened) }
    return opened >= 0
    #else
    false
    #endif
  }

  // The device number of /dev/full on Linux: 1, 7.
  private static let fullDevice = dev_t(1 << 8 | 7)

  @Test("on a full disk the old file stays, which is reported once", .enabled(if: hasDevices))
  func full() throws {
    let state = state()
    pause(endPoint, for: 60, in: state)
    for _ in 0..<3 {
      #expect(mknod(path + "/part", S_IFCHR | 0o600, Self.fullDevice) == 0)
      pause(endPoint, for: 600, in: state)
    }
    #expect(state.server(of: endPoint)?.pause?.until == 1_764_000_060_000)
    #expect(reports.values.count == 1 && reports.last?.contains("No space left") == true)
  }

  @Test("a lock that a stopped process holds delays one write, and no further one")
  func locked() throws {
    let state = state(patience: 2)
    pause(endPoint, for: 60, in: state)
    let lock = HeadgateLibC.open(path + "/lock", O_RDWR)
    #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
    for _ in 0..<1000 { pause(endPoint, for: 600, in: state) }
    #expect(reports.count == 1)
    // What is there can still be read.
    #expect(state.server(of: endPoint)?.pause?.until == 1_764_000_060_000)
    close(lock)
    pause(endPoint, for: 600, in: state)
    #expect(state.server(of: endPoint)?.pause?.until == 1_764_000_600_000)
  }

  @Test("nothing is kept of this machine, unless it is asked for")
  func loopback() throws {
    let here = [
      try EndPoint(host: "localhost", port: 1), try EndPoint(host: "127.0.0.1", port: 1),
      try EndPoint(host: "::1", port: 1),
      try EndPoint(unixSocket: "/run/x"),
    ]
    for endPoint in here { pause(endPoint, for: 60, in: state()) }
    #expect(folder.names.isEmpty)
    let all = GateState(folder: path, keepsLoopback: true, wallClock: { [time] in time.withLock { $0 } })
    for endPoint in here {
      pause(endPoint, for: 60, in: all)
      #expect(all.server(of: endPoint)?.pause != nil && state().server(of: endPoint) == nil)
    }
    #expect(files.count == 4)
  }
}
