import Foundation
import Headgate

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("folder-transport-\(getpid())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
try Data("Hello from a file.\n".utf8).write(to: folder.appendingPathComponent("hello.txt"))
try Data(count: 10_000_000).write(to: folder.appendingPathComponent("big.bin"))

let dispatcher = URLDispatcher(transport: FolderTransport(folder: folder))
print(try await dispatcher.data(for: "http://api.example/hello.txt").text, terminator: "")
print("missing:", try await dispatcher.data(for: "http://api.example/nothing").statusCode)

// A slow consumer: the transport reads on only when there is room.
var bytes = 0
for try await piece in try await dispatcher.stream(for: "http://api.example/big.bin").body { bytes += piece.count }
print("streamed:", bytes)

// A folder can't be read as a file. The error of the file system is the cause of the error.
do {
  _ = try await dispatcher.data(for: "http://api.example/")
} catch {
  print("a folder:", error.code)
}
// The file is larger than the request allows.
var small = try DispatchRequest("http://api.example/big.bin")
small.maxBodyBytes = 1_000_000
do {
  _ = try await dispatcher.data(for: small)
} catch {
  print("with a limit of 1 MB:", error.code)
}
await dispatcher.shutDown()
