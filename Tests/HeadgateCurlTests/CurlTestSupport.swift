import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Has the origin hold a number of requests at once, so that as many sockets are open, and then answer them.
func holdAtOnce(
  _ count: Int, _ dispatcher: URLDispatcher, _ origin: Origin, endPoint: Int = 0
) async throws {
  var held = try DispatchRequest(origin.url("/hold", endPoint: endPoint))
  held.timeout = nil
  let statuses = await withTaskGroup(of: Int?.self) { [held] group in
    for _ in 0..<count { group.addTask { try? await dispatcher.data(for: held).statusCode } }
    #expect(await origin.waitUntil({ $0.requests == count }, endPoint: endPoint, until: .after(.seconds(60))))
    origin.release()
    return await group.reduce(into: []) { $0.append($1) }
  }
  #expect(statuses == Array(repeating: 200, count: count))
}

/// A folder that is removed with the test.
final class TemporaryFolder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

  func size(of name: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.size] as? Int
  }

  /// A sparse file of zeros, which takes no room on the disk.
  func sparseFile(of size: Int) throws -> String {
    let path = path + "/sparse"
    guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, off_t(size)) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    return path
  }
}
