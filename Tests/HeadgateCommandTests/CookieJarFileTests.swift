import Foundation
import HeadgateCurl
import HeadgateDispatch
import Testing

/// The file that `--cookie-jar` writes, in a folder with planted files.
@Suite struct CookieJarFileTests {
  private let folder: TemporaryFolder
  private let jar: CookieJar

  init() throws {
    folder = try TemporaryFolder()
    jar = try CookieJar()
    jar.add("Set-Cookie: secret=1; Domain=a.example; Path=/")
  }

  private var isSaved: Bool { folder.text(of: "jar")?.contains("secret") == true }

  @Test func `Planted files next to the jar are neither followed nor changed`() throws {
    try folder.write("mine", to: "victim")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("jar.part"), withDestinationPath: folder.file("victim"))
    try jar.save(to: folder.file("jar"))
    #expect(isSaved)
    #expect(folder.text(of: "victim") == "mine")
    #expect(folder.names() == ["jar", "jar.part", "victim"])
  }

  @Test(.timeLimit(.minutes(1))) func `A pipe next to the file does not block`() throws {
    try #require(mkfifo(folder.file("jar.part"), 0o600) == 0)
    try jar.save(to: folder.file("jar"))
    #expect(isSaved)
  }

  @Test func `Only the owner may read the file, regardless of the mode of the earlier file`() throws {
    try folder.write("old", to: "jar")
    try #require(chmod(folder.file("jar"), 0o666) == 0)
    try jar.save(to: folder.file("jar"))
    #expect(isSaved)
    #expect(folder.mode(of: "jar") == 0o600)
  }

  @Test func `A link with the file's name is replaced, and its target is not changed`() throws {
    try folder.write("mine", to: "victim")
    try FileManager.default.createSymbolicLink(atPath: folder.file("jar"), withDestinationPath: folder.file("victim"))
    try jar.save(to: folder.file("jar"))
    #expect(isSaved)
    #expect(folder.text(of: "victim") == "mine")
    #expect(folder.names() == ["jar", "victim"])
  }

  @Test func `Only a regular file is replaced, and nothing is left behind`() throws {
    try #require(mkfifo(folder.file("jar"), 0o600) == 0)
    // Through a separate link: if the device were replaced after all, the machine would lose it.
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "/dev/null")
    for path in [folder.file("jar"), folder.path, folder.file("none/jar"), folder.file("link")] {
      let error = #expect(throws: DispatchError.self) { try jar.save(to: path) }
      #expect(error?.code == .fileFailed)
    }
    #expect(folder.names() == ["jar", "link"])
  }

  @Test func `A name may have the maximum length of the file system, and no folder`() throws {
    let name = String(repeating: "x", count: 255)
    try jar.save(to: folder.file(name))
    #expect(folder.names() == [name])
  }
}
