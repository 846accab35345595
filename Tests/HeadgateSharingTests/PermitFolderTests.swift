import Foundation
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// Which folder the programs of a user share, and whom they trust there.
@Suite struct PermitFolderTests {
  private let place = SharingPlace()

  private func folder(_ environment: [String: String]) -> String { PermitFolder.user { environment[$0] }.path }

  @Test("the folder depends on the user, not on the environment of a login shell; HEADGATE_FOLDER names another one")
  func user() {
    let expected = "/tmp/headgate-\(geteuid())"
    #expect(folder([:]) == expected)
    #expect(folder(["XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/var/tmp", "HOME": "/root"]) == expected)
    #expect(folder(["HEADGATE_FOLDER": ""]) == expected)
    #expect(folder(["HEADGATE_FOLDER": "/srv/limits"]) == "/srv/limits")
  }

  @Test("where an earlier version looked for its folder, a server is reported, but not for a folder that was chosen")
  func earlierVersion() throws {
    let user = PermitFolder.user { _ in nil }
    func remark(_ name: String, of folder: PermitFolder) -> String? {
      folder.remark { $0 == name ? place.folder.path : nil }
    }
    try FileManager.default.createDirectory(atPath: place.folder.path, withIntermediateDirectories: true)
    for (name, former) in [("XDG_RUNTIME_DIR", "headgate"), ("TMPDIR", "headgate-\(geteuid())")] {
      let folder = PermitFolder(path: "\(place.folder.path)/\(former)")
      #expect(remark(name, of: user) == nil)
      let server = try #require(try PermitServer.start(in: folder))
      #expect(remark(name, of: user)?.contains("HEADGATE_FOLDER=\(folder.path) ") == true)
      #expect(remark(name, of: place.folder) == nil)
      server.stop()
      server.wait()
    }
  }

  @Test("a server in a folder that others can use is not asked, and the error names the ways out")
  func planted() throws {
    let server = try #require(try PermitServer.start(in: place.folder))
    // The folder is removed afterwards.
    defer {
      server.stop()
      server.wait()
    }
    #expect(chmod(place.folder.path, 0o755) == 0)
    let demand = SharedDemand(
      for: try EndPoint(host: "a", port: 80), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    func isRefused(_ call: () throws(SharingError) -> Void) {
      do throws(SharingError) {
        try call()
        Issue.record("a folder that others can use was used")
      } catch {
        for part in ["open to others", "--folder", "HEADGATE_FOLDER"] { #expect("\(error)".contains(part)) }
      }
    }
    isRefused { () throws(SharingError) in _ = try PermitStatus.read(from: place.folder) }
    isRefused { () throws(SharingError) in
      _ = try PermitHolder.acquire(demand, in: place.folder) { folder throws(SharingError) in
        _ = try PermitServer.start(in: folder)
      }
    }
  }

  @Test("a folder must be an absolute path")
  func relative() {
    #expect(throws: SharingError.self) { try PermitServer.start(in: PermitFolder(path: "limits")) }
  }
}
