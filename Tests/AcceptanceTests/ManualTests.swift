import Foundation
import Testing

extension AcceptanceTests {
  /// The script with which `make install` arranges the generated manual pages.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct ManualTests {
    private static let script = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/manual.awk").path

    @Test("Examples, exit statuses and options have their sections, and pages have their installed names")
    func sections() async throws {
      let generated = """
        .Dt HEADGATE.FETCH 1
        .Os
        .Nm "headgate fetch"
        .Nd "Fetch a list."
        .Sh DESCRIPTION
        One.

        Two, up to 1024^2.

        EXAMPLES
          headgate fetch \\e
            -i urls.txt
          .hidden

        EXIT STATUS
          0    all is well,
               and more
          130  interrupted
        .Bl -tag -width 6n
        .It Fl i
        A list.
        .Pp
        .It Fl O
        Files.
        .El
        .Sh "EXIT STATUS"
        .Ex -std
        .Sh "SEE ALSO"
        .Xr headgate.help 1

        """
      let arranged = """
        .Dt HEADGATE-FETCH 1
        .Os Headgate
        .Nm "headgate fetch"
        .Nd "Fetch a list"
        .Sh DESCRIPTION
        One.
        .Pp
        Two, up to 1024^2.
        .Sh OPTIONS
        .Bl -tag -width 6n
        .It Fl i
        A list.
        .It Fl O
        Files.
        .El
        .Sh "EXIT STATUS"
        .Bl -tag -width 4n -compact
        .It 0
        all is well,
        and more
        .It 130
        interrupted
        .El
        .Sh EXAMPLES
        .Bd -literal
        headgate fetch \\e
          -i urls.txt
        \\&.hidden
        .Ed
        .Sh "SEE ALSO"
        .Xr headgate 1 ,
        .Xr headgate-call 1

        """
      let folder = try TemporaryFolder()
      try folder.write(generated.utf8, to: "page")
      let line = try ShellLine(
        "awk -v pages='headgate headgate-call headgate-fetch' -f \"$SCRIPT\" page", in: folder,
        variables: ["SCRIPT": Self.script])
      let (status, output, messages) = await line.finish()
      #expect(status == 0, "\(messages)")
      #expect(String(decoding: output, as: UTF8.self) == arranged)
    }

    @Test(
      "Examples and exit statuses of the help fit into 80 columns, and the help is all ASCII",
      arguments: ["", "fetch", "call", "report"])
    func widths(of subcommand: String) async throws {
      let line = try ShellLine("headgate \(subcommand) --help", in: try TemporaryFolder())
      let (status, output, _) = await line.finish()
      #expect(status == 0)
      let lines = String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      let usage = try #require(lines.firstIndex { $0.hasPrefix("USAGE:") })
      let start = try #require(lines.firstIndex { $0 == "EXAMPLES" })
      // The generator of the manual page omits all other characters.
      #expect(output.allSatisfy { $0 < 0x80 })
      // A line that was too long would continue in the first column.
      let broken = lines[start..<usage].filter { !$0.isEmpty && !$0.hasPrefix("  ") }
      #expect(broken.filter { !["EXAMPLES", "EXIT STATUS"].contains($0) } == [])
    }
  }
}
