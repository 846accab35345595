import Foundation
import HeadgateDispatch
import HeadgateThreads

@testable import HeadgateCommand

/// A terminal for a process, and everything that was written to it.
final class PseudoTerminal: Sendable {
  let slave: Int32
  private let master: Int32
  private let bytes = LockedBox<[UInt8]>([])

  init(columns: Int, rows: Int) throws {
    #if canImport(Darwin)
    master = posix_openpt(O_RDWR | O_NOCTTY)
    guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
      throw SystemError.last
    }
    #else
    // The equivalents of grantpt and ptsname, which Swift's Glibc lacks. TIOCSPTLCK and TIOCGPTN of
    // <asm-generic/ioctls.h>.
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var (lock, number): (Int32, Int32) = (0, 0)
    guard master >= 0, ioctl(master, UInt(0x4004_5431), &lock) == 0, ioctl(master, UInt(0x8004_5430), &number) == 0
    else {
      throw SystemError.last
    }
    let name = "/dev/pts/\(number)"
    #endif
    slave = open(name, O_RDWR | O_NOCTTY)
    guard slave >= 0 else { throw SystemError.last }
    // Otherwise a child would inherit it in addition to its messages.
    for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    resize(columns: columns, rows: rows)
    let (master, bytes) = (master, bytes)
    Thread.detachNewThread {
      // The end is reported as an error, once all processes that had the other end have closed it.
      while let piece = try? Descriptor.read(master, atMost: 65_536), !piece.isEmpty { bytes.withLock { $0 += piece } }
    }
  }

  func resize(columns: Int, rows: Int) {
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
  }

  /// What the user of the terminal types.
  func type(_ text: String) throws { try Descriptor.write(Array(text.utf8), to: master) }

  /// Closes the process's end, so that reading ends.
  func close() { Descriptor.close(slave) }

  var count: Int { bytes.withLock { $0.count } }

  var text: String { text(after: 0) }

  /// The text written from a position on, with line ends as the process wrote them.
  func text(after place: Int) -> String {
    String(decoding: bytes.withLock { $0[place...] }, as: UTF8.self).replacing("\r\n", with: "\n")
  }

  /// The text written since the panel was last erased.
  var panel: [Substring] {
    let text = text
    let start = text.ranges(of: "\u{1B}[J").last?.upperBound ?? text.startIndex
    return text[start...].split(separator: "\n")
  }

  func wait(for words: String, after place: Int = 0) async throws {
    _ = try await eventually("\"\(words)\" on the terminal, which has \(text(after: place).suffix(300))") {
      text(after: place).contains(words) ? true : nil
    }
  }
}
