import Foundation
import Headgate

/// Answers requests with the files of a folder, whatever their host: for previews, demonstrations and offline work.
/// The dispatcher provides the queue, limits, retries, time limits and redirects, as over a network.
struct FolderTransport: Transport {
  let folder: URL

  /// While the consumer pauses a body, no more of the file is read.
  var capabilities: TransportCapabilities { .backPressure }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let path = URL(string: exchange.request.url)?.path ?? "/"
    return FileExchange(file: folder.appendingPathComponent(path), isAllowed: !path.contains("/.."), events)
  }
}

/// One file that is being sent. A single task sends all its events, so they come one at a time, and it ends once.
private final class FileExchange: ExchangeControl {
  private let resumed = Notify()
  private let task: Task<Void, Never>

  init(file: URL, isAllowed: Bool, _ events: any ExchangeEvents) {
    task = Task { [resumed] in
      do {
        if isAllowed, FileManager.default.fileExists(atPath: file.path) {
          try await send(file, to: events, resumed)
        } else {
          _ = events.received(ResponseHead(statusCode: isAllowed ? 404 : 403))
        }
        events.ended(ExchangeEnd())
      } catch is CancellationError {
        events.ended(ExchangeEnd(failure: DispatchError(.cancelled, phase: .receiving)))
      } catch {
        let failure = DispatchError(.transportFailed, phase: .receiving, underlyingError: error)
        events.ended(ExchangeEnd(failure: failure))
      }
    }
  }

  var phase: DispatchError.Phase { .receiving }
  func cancel() { task.cancel() }
  func resume() { resumed.notifyOne() }
}

private func send(_ file: URL, to events: any ExchangeEvents, _ resumed: Notify) async throws {
  let handle = try FileHandle(forReadingFrom: file)
  defer { try? handle.close() }
  var flow = events.received(ResponseHead(statusCode: 200, headerFields: [.contentType: "application/octet-stream"]))
  while flow != .abort {
    if flow == .pause { try await resumed.wait() }
    // Reading a file blocks the thread.
    let piece = try await ThreadPool.blocking { try handle.read(upToCount: 64 << 10) }
    guard let piece, !piece.isEmpty else { return }
    flow = piece.withUnsafeBytes { events.received($0) }
  }
  throw CancellationError()
}
