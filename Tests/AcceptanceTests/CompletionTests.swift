import Testing

extension AcceptanceTests {
  /// The completions that `make install` writes.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct CompletionTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write([], to: "urls.txt")
      try folder.write([], to: "folder/inner")
    }

    /// The typed text, whose last word is incomplete, and bash's completions for that word.
    private static let cases: [(typed: String, offered: Set<String>)] = [
      ("headgate f", ["fetch"]),
      ("headgate ca", ["call"]),
      ("headgate fetch --per", ["--per-host"]),
      ("headgate fetch --prog", ["--progress"]),
      ("headgate fetch --progress p", ["plain"]),
      ("headgate fetch --redirects n", ["none", "no-downgrade"]),
      ("headgate fetch --retry-after h", ["honour"]),
      ("headgate fetch -i url", ["urls.txt"]),
      ("headgate fetch --input-file url", ["urls.txt"]),
      ("headgate fetch -P fol", ["folder"]),
      ("headgate fetch -P url", []),
      ("headgate fetch --session url", ["urls.txt"]),
      ("headgate fetch --cacert url", ["urls.txt"]),
      ("headgate fetch --cookie-jar url", ["urls.txt"]),
      ("headgate fetch --unix-socket url", ["urls.txt"]),
      ("headgate call -o url", ["urls.txt"]),
      ("headgate report url", ["urls.txt"]),
    ]

    @Test("bash completes subcommands, options, their words, and the names of files and folders")
    func bash() async throws {
      let script = """
        source completion
        function=$(complete -p headgate | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        while read -r line; do
          COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#line}; COMPREPLY=()
          "$function" headgate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
          echo "${COMPREPLY[@]}"
        done

        """
      try folder.write(script.utf8, to: "complete.bash")
      try folder.write(Self.cases.map { $0.typed + "\n" }.joined().utf8, to: "typed")
      let line = try ShellLine(
        "headgate --generate-completion-script bash > completion; bash complete.bash < typed", in: folder)
      let (status, output, messages) = await line.finish()
      #expect(status == 0, "\(messages)")
      let lines = String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      try #require(lines.count == Self.cases.count + 1)
      for (line, expected) in zip(lines, Self.cases) {
        #expect(Set(line.split(separator: " ").map(String.init)) == expected.offered, "\(expected.typed)")
      }
    }

    @Test("fish completes the options of subcommands, and uses no names that its argparse rejects")
    func fish() async throws {
      let line = try ShellLine(
        "headgate --generate-completion-script fish | tee completion; command -v fish > /dev/null || exit 0; "
          + "fish -c 'source completion; complete -C \"headgate fetch --prog\"; complete -C \"headgate call --idem\"' "
          + "> offered; grep -q ^--progress offered && grep -q ^--idempotency-key offered", in: folder)
      let (status, output, messages) = await line.finish()
      #expect(status == 0, "\(messages)")
      let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
      let lists = lines.filter { $0.contains("__headgate_parse_subcommand ") }
      #expect(lists.count >= 4 && lists.contains { $0.contains("'progress='") })
      #expect(lists.allSatisfy { !$0.contains(".") })
      #expect(lines.contains { $0.contains("-l 'tlsv1.2'") })
    }

    @Test("The completion scripts pass their shells' syntax checks", arguments: ["bash", "zsh", "fish"])
    func syntax(of shell: String) async throws {
      let line = try ShellLine(
        "headgate --generate-completion-script \(shell) > completion && test -s completion && "
          + "if command -v \(shell) > /dev/null; then \(shell) -n completion; fi", in: folder)
      let (status, _, messages) = await line.finish()
      #expect(status == 0 && messages == "", "\(messages)")
    }
  }
}
