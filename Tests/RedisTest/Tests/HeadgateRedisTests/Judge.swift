import Foundation
import Synchronization

@testable import worker

/// Counts the permits that processes show it: connections to a socket.
final class Judge: Sendable {
  struct Count {
    /// The processes of the permits in use, by connection.
    var now: [Int32: Int32] = [:]
    /// The most permits in use at once, without those of exempt processes.
    var most = 0
    /// Processes whose lease may have ended while they could not know.
    var exempt: Set<Int32> = []
    var served: [Int32: Int] = [:]
  }

  let path: String
  private let counted = Mutex(Count())
  private let listener: Int32

  init(_ folder: URL) throws {
    path = folder.appending(path: "judge").path
    listener = try UnixSocket.listen(path)
    Thread.detachNewThread { [self] in run() }
  }

  var count: Count { counted.withLock { $0 } }

  func reset() { counted.withLock { $0 = Count(now: $0.now, exempt: $0.exempt) } }

  /// Leaves the permits of a process out of the count, or counts them again.
  func exempt(_ process: Int32, _ isExempt: Bool) {
    counted.withLock { count in
      if isExempt { count.exempt.insert(process) } else { count.exempt.remove(process) }
    }
  }

  private func run() {
    var lines = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    while poll(&lines, nfds_t(lines.count), -1) > 0 {
      // Ends first: a permit that is handed on ends before it begins.
      for place in lines.indices.dropFirst().reversed() where lines[place].revents != 0 {
        var number: Int32 = 0
        let line = lines[place].fd
        if read(line, &number, 4) == 4 {
          counted.withLock { count in
            count.served[number, default: 0] += 1
            count.now[line] = number
            count.most = max(count.most, count.now.values.count { !count.exempt.contains($0) })
          }
        } else {
          close(line)
          lines.remove(at: place)
          counted.withLock { $0.now[line] = nil }
        }
      }
      guard lines[0].revents != 0 else { continue }
      let line = accept(listener, nil, nil)
      guard line >= 0 else { return }
      lines.append(pollfd(fd: line, events: Int16(POLLIN), revents: 0))
    }
  }
}
