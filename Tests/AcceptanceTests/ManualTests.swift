import Foundation
import Testing

extension AcceptanceTests {
  /// The script with which `make install` and `make dist` write the manual pages.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct ManualTests {
    private static let script = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/manual.py").path

    @Test("Examples, exit statuses and options have their sections, and nothing in the text is a request of troff")
    func sections() async throws {
      let discussion = #"""
        One, with --input.

        .Two, up to 1024^2.

        EXAMPLES
          headgate fetch \\
            -i urls-a.txt
          .hidden

        EXIT STATUS
          0    all is well,
               and more
          130  interrupted
        """#
      let help = #"""
        {"command": {"commandName": "headgate", "abstract": "A gate.", "shouldDisplay": true, "subcommands": [
          {"commandName": "help", "abstract": "Help.", "shouldDisplay": true},
          {"commandName": "origin", "abstract": "Hidden.", "shouldDisplay": false},
          {"commandName": "fetch", "abstract": "Fetch a list.", "shouldDisplay": true,
            "discussion": "\#(discussion.replacing("\n", with: #"\n"#))", "arguments": [
            {"kind": "positional", "valueName": "url", "abstract": "URLs.", "isOptional": true, "isRepeating": true,
              "shouldDisplay": true},
            {"kind": "option", "valueName": "Ar", "abstract": "A list.", "isOptional": true, "isRepeating": true,
              "shouldDisplay": true, "names": [{"kind": "long", "name": "input"}, {"kind": "short", "name": "i"}]},
            {"kind": "flag", "valueName": "n", "abstract": "New.", "isOptional": true, "isRepeating": false,
              "shouldDisplay": true, "sectionTitle": "Files", "names": [{"kind": "short", "name": "n"}]}]}]}}
        """#
      let page = #"""
        .Dd January 2, 1970
        .Dt HEADGATE-FETCH 1
        .Os Headgate
        .Sh NAME
        .Nm headgate-fetch
        .Nd Fetch a list
        .Sh SYNOPSIS
        .Nm "headgate fetch"
        .Op Ar option ...
        .Op Ar url ...
        .Sh DESCRIPTION
        One, with \-\-input.
        .Pp
        \&.Two, up to 1024^2.
        .Sh OPTIONS
        .Bl -tag -width 6n
        .It Ar url
        URLs.
        .It Fl i , -input Ar \&Ar
        A list.
        .El
        .Ss Files
        .Bl -tag -width 6n
        .It Fl n
        New.
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
        headgate fetch \e
          \-i urls\-a.txt
        \&.hidden
        .Ed
        .Sh "SEE ALSO"
        .Xr headgate 1

        """#
      let folder = try TemporaryFolder()
      try folder.write(help.utf8, to: "help")
      try folder.write("#!/bin/sh\ncat help\n".utf8, to: "program")
      let line = try ShellLine(
        "chmod +x program; python3 \"$SCRIPT\" ./program . && ls *.1 && cat headgate-fetch.1", in: folder,
        variables: ["SCRIPT": Self.script, "SOURCE_DATE_EPOCH": "86400"])
      let (status, output, messages) = await line.finish()
      #expect(status == 0, "\(messages)")
      #expect(String(decoding: output, as: UTF8.self) == "headgate-fetch.1\nheadgate.1\n" + page)
    }

    @Test(
      "Examples and exit statuses of the help fit into 80 columns, and the help is all ASCII",
      arguments: [
        "", "fetch", "call", "hold", "refused", "report", "status", "state", "share", "share serve", "share init",
        "demo",
        "origin",
      ])
    func widths(of subcommand: String) async throws {
      let line = try ShellLine("headgate \(subcommand) --help", in: try TemporaryFolder())
      let (status, output, _) = await line.finish()
      #expect(status == 0)
      let lines = String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      let usage = try #require(lines.firstIndex { $0.hasPrefix("USAGE:") })
      // Consoles and pagers without UTF-8 show all of it.
      #expect(output.allSatisfy { $0 < 0x80 })
      guard let start = lines.firstIndex(of: "EXAMPLES") else { return }
      // A line that was too long would continue in the first column.
      let broken = lines[start..<usage].filter { !$0.isEmpty && !$0.hasPrefix("  ") }
      #expect(broken.filter { !["EXAMPLES", "EXIT STATUS"].contains($0) } == [])
    }
  }
}
