import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Paths of files that templates form from URLs.
@Suite struct OutputTemplateTests {
  private func path(_ template: String, _ url: String, number: Int = 7, line: Int = 9) throws -> String {
    let request = try DispatchRequest(url)
    let template = try OutputTemplate(template)
    return template.path(request, FileName.Parts(ofURL: request.url), number: number, line: line)
  }

  @Test(arguments: [
    ("{name}", "http://a/b/c.txt", "c.txt"),
    ("{host}/{path}/{name}", "http://A.example/b/c/d.txt?e", "a.example/b/c/d.txt?e"),
    ("{host}/{path}/{name}", "http://a.example", "a.example/index.html"),
    ("{host}-{port}/{name}", "https://a.example/x", "a.example-443/x"),
    ("{host}/{name}", "http://[::1]:81/x", "::1/x"),
    ("{stem}-{n}.{ext}", "http://a/b.tar.gz", "b.tar-7.gz"),
    ("{stem}-{n}.{ext}", "http://a/b", "b-7"),
    ("{stem}.{ext}", "http://a/page.html?p=1", "page?p=1.html"),
    ("{stem}.{ext}", "http://a/?p=.x", "index?p=.x.html"),
    ("{stem}|{ext}", "http://a/a%3Fb.html", "a?b|html"),
    ("{stem}{ext}", "http://a/b.c", "bc"),
    ("{n:4}_{line:2}_{line}", "http://a/b", "0007_09_9"),
    ("{hash:2}/{hash:4}", "http://a/", "28/282a"),
    ("{hash}", "http://user:secret@a/#there", "282a35d7a0da6ae4"),
    ("{{name}} {n}", "http://a/b", "{name}} 7"),
    ("all.html", "http://a/b", "all.html"),
    ("./x//{name}", "http://a/b", "x/b"),
    ("{ext}", "http://a/b", "b"),
    (".cache/{name}", "http://a/b", ".cache/b"),
    ("{path}/{name}", "http://a/os/.treeinfo", "os/.treeinfo"),
    ("{path}/{name}", "http://a/.well-known/x", ".well-known/x"),
    ("{host}/{path}/{name}", "http://a/.x/y", "a/.x/y"),
    ("{host}/{stem}.{ext}", "http://a/.x.html", "a/.x.html"),
    ("{host}/{stem}", "http://a/.x.html", "a/.x"),
    ("{host}/{n}-{name}", "http://a/.x", "a/7-_x"),
    ("{path}/{name}", "http://a/os/.part", "os/.part_"),
  ])
  func `C14 A template is expanded`(template: String, url: String, expected: String) throws {
    #expect(try path(template, url) == expected)
  }

  @Test(arguments: [
    ("{path}/{name}", "http://a/%2e%2e/..%2f../x", "_./.._../x"),
    ("{path}/{name}", "http://a/./.hidden//b%00c/x", "_/.hidden/b_c/x"),
    ("..{path}/{name}", "http://a/x", "_./x"),
    (".{ext}/{name}", "http://a/x", "x"),
    (".{path}./x", "http://a/x", "_./x"),
    ("{host}/{name}", "http://a/%2Fetc%2Fpasswd", "a/_etc_passwd"),
    ("{path}/{name}", "http://a/.bashrc", "_bashrc"),
    ("{path}/{name}", "http://a/.ssh/.x/y", "_ssh/.x/y"),
    ("./{path}/{name}", "http://a/.ssh/y", "_ssh/y"),
    ("./{path}//{name}", "http://a/.bashrc", "_bashrc"),
    ("{name}", "http://a/os/.treeinfo", "_treeinfo"),
    ("{host}/{name}", "http://a/%2e%2e", "a/_."),
    ("{host}/{name}", "http://a/.", "a/_"),
    ("{path}/{name}", "http://a/x.part/y.part", "x.part_/y.part_"),
    ("{name}.part", "http://a/x", "x.part_"),
    ("{path}/{name}", "http://a/%0A%1B[2J/x", "__[2J/x"),
    ("{path}/{name}", "http://a/%E2%80%AEb/x", "_b/x"),
    // One long character of several code points.
    (".{path}/{name}", "http://a/\(String(repeating: "%D8%80", count: 120))/x", "_/x"),
  ])
  func `No path leaves the folder, is hidden directly in it, or breaks a terminal`(
    template: String, url: String, expected: String
  )
    throws
  {
    #expect(try path(template, url) == expected)
  }

  @Test(arguments: ["x{path}/{name}", "x{path}{path}/{name}", "{n}{name}", "{host}/{n}{stem}"])
  func `No part of a path is empty, even if it is one long character`(template: String) throws {
    let marks = String(repeating: "%CC%81", count: 120)
    let path = try path(template, "http://a/\(marks)/\(marks)")
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    #expect(parts.allSatisfy { (1...FileName.longest).contains($0.count) }, "\(parts.map(\.count))")
  }

  @Test func `No path, and no part of one, is longer than systems allow`() throws {
    let long = String(repeating: "x", count: 300)
    for template in ["{path}/{name}", "a{name}{name}{name}", "{host}{path}/{stem}{stem}.{ext}"] {
      let path = try path(template, "http://a" + String(repeating: "/" + long, count: 100) + "/" + long + ".txt")
      #expect(path.utf8.count < 3_500)
      #expect(path.split(separator: "/").allSatisfy { $0.utf8.count <= FileName.longest })
      #expect(path.hasSuffix(".txt"))
    }
  }

  @Test(arguments: [
    ("", "names a folder"), ("out/", "names a folder"), ("{host}/{path}", "names a folder"), ("a/.", "names a folder"),
    ("/tmp/{name}", "with -P /"), ("../{name}", "must not contain .."), ("a/../{name}", "must not contain .."),
    ("a/..", "must not contain .."),
    ("a\u{1B}b", "control"), ("{nam}", "there is no {nam}; there are {host}, {port}, {path}"), ("{}", "there is no {}"),
    ("{name", "no closing }"), ("{hash:0}", "between 1 and 64"), ("{hash:65}", "between 1 and 64"),
    ("{hash:x}", "between 1 and 64"), ("{n:19}", "between 1 and 18"), ("{name:2}", "no number of digits"),
    ("-", "standard output"),
  ])
  func `An invalid template is refused`(text: String, reason: String) {
    let error = #expect(throws: OptionError.self) { try OutputTemplate(text) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }
}

/// Files and folders below one folder.
@Suite struct FilePathsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func paths(keepsExisting: Bool = true, used: [String] = []) -> FilePaths {
    let names = FileNames(taken: keepsExisting ? Descriptor.names(in: folder.path) : [])
    return FilePaths(in: folder.path, names, keepsExisting: keepsExisting, used: used)
  }

  @Test func `Equal paths are numbered, and paths in other folders are independent`() {
    let paths = paths()
    #expect(
      ["a/x", "b/x", "a/x", "x", "a/x.1", "a/x"].map(paths.claim) == [
        "a/x", "b/x", "a/x.1", "x", "a/x.1.1", "a/x.2",
      ])
  }

  @Test func `A folder does not take a file's name, nor a file a folder's`() {
    let paths = paths()
    #expect(["a", "a/b", "a/b/c", "a/c", "a"].map(paths.claim) == ["a", "a.1/b", "a.1/b.1/c", "a.1/c", "a.2"])
    #expect(["d/e", "d", "d/f"].map(paths.claim) == ["d/e", "d.1", "d/f"])
  }

  @Test func `Existing files stay, and existing folders are used`() throws {
    try FileManager.default.createDirectory(atPath: folder.file("a/b"), withIntermediateDirectories: true)
    for name in ["a/b/x", "f"] { try folder.write("", to: name) }
    let paths = paths()
    #expect(["a/b/x", "f/x", "a", "a/b"].map(paths.claim) == ["a/b/x.1", "f.1/x", "a.1", "a/b.1"])
    let others = self.paths(keepsExisting: false)
    #expect(["a/b/x", "f/x"].map(others.claim) == ["a/b/x", "f.1/x"])
  }

  @Test func `The paths of a session and their folders are reserved`() {
    let paths = paths(used: ["a/b/x", "y"])
    #expect(
      ["a/b/x", "a", "a/b", "y", "y/z", "a/b/z"].map(paths.claim) == [
        "a/b/x.1", "a.1", "a/b.1", "y.1", "y.2/z", "a/b/z",
      ])
  }

  @Test func `Unused folders are removed, and others stay`() throws {
    try FileManager.default.createDirectory(atPath: folder.file("old"), withIntermediateDirectories: true)
    let paths = paths()
    for path in ["a/b/x", "a/c/x", "old/x"] { try paths.makeFolder(of: paths.claim(path)) }
    try folder.write("", to: "a/c/x")
    paths.removeEmptyFolders()
    #expect(folder.names() == ["a", "old"] && folder.names(in: "a") == ["c"])
  }
}
