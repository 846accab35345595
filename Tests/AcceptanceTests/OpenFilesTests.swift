#if os(Linux)
import Foundation
import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// The sockets that the command has open, and what it does if it may open few files.
  @Suite struct OpenFilesTests {
    private static let hosts = 500

    private let folder: TemporaryFolder
    private let program: String

    init() throws {
      folder = try TemporaryFolder()
      program = try #require(Tool.headgate)
      try folder.write(Array(repeating: UInt8(ascii: "x"), count: 20_000), to: "files/x")
    }

    /// All addresses of loopback reach it.
    private func startNginx() async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen \(ports[0]); allow 127.0.0.0/8; deny all; }"
      }
    }

    private func writeList(_ nginx: Nginx, times: Int) throws {
      let urls = (0..<times).flatMap { time in
        (0..<Self.hosts).map { nginx.url("/x?\(time)", host: "127.1.\($0 / 200).\($0 % 200 + 1)") }
      }
      try folder.write(urls.joined(separator: "\n").utf8, to: "list")
    }

    @Test("C11 hundreds of hosts: a connection that is idle is closed for a new one, and no other is open")
    func sockets() async throws {
      let nginx = try await startNginx()
      try writeList(nginx, times: 4)
      let fetch = try StartedProcess(
        program, ["fetch", "-i", folder.file("list"), "-P", folder.file("out"), "-j", "20", "-q"])
      var most = 0
      while !fetch.hasEnded {
        most = max(most, try Self.sockets(to: nginx.ports[0]))
        await Task.yield()
      }
      #expect(await fetch.finish() == 0)
      // The table is not read in one instant: some of the sockets may have been closed for others that it has too.
      #expect((10...40).contains(most))
      // A connection to each host, at least.
      #expect(try await nginx.connections().accepted >= Self.hosts)
      await nginx.stop()
    }

    @Test(
      "C10 hundreds of hosts while the process may open few files: requests wait for descriptors",
      arguments: [64, 48])
    func fewFiles(limit: Int) async throws {
      let nginx = try await startNginx()
      try writeList(nginx, times: 1)
      let shell = try await Tool(
        "bash",
        [
          "-c", "ulimit -n \(limit); exec \"$@\"", "bash", program, "fetch", "-i", folder.file("list"), "-P",
          folder.file("out"),
        ])
      #expect(shell.status == 0, "\(shell.messages)")
      #expect(folder.names(in: "out").count == Self.hosts)
      await nginx.stop()
    }

    /// The sockets whose peer has a port, in any state but that of closed ones.
    private static func sockets(to port: Int) throws -> Int {
      let end = Array((":" + String(format: "%04X", port)).utf8)
      // The file has no size, so it is read to its end.
      let table = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/tcp")).readToEnd() ?? Data()
      return [UInt8](table).split(separator: UInt8(ascii: "\n")).count { line in
        let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
        // The peer's address, and the inode.
        return columns.count > 9 && columns[2].suffix(5) == end[...] && columns[9] != [UInt8(ascii: "0")]
      }
    }
  }
}
#endif
