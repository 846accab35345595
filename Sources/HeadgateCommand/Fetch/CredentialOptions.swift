import ArgumentParser
import HeadgateDispatch

/// Credentials and other fields that identify the client, from places that other users can't read.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    help: ArgumentHelp(
      "A header field for every request. @FILE reads one field per line from a file; blank lines and # comments "
        + "are skipped. HOST= before it limits the field to some hosts, with a pattern as in --limit. Repeatable.",
      valueName: "[host=]name: value|@file"
    ),
    transform: OptionValue.headerSource
  )
  var headers: [HeaderSource] = []

  @Option(
    name: .customLong("header-env"),
    help: ArgumentHelp(
      "A header field with the value of an environment variable. Repeatable.",
      valueName: "[host=]name=variable"),
    transform: OptionValue.headerVariable
  )
  var headerVariables: [HeaderSource] = []

  @Option(
    name: [.customShort("A", allowingJoined: true), .long],
    help: ArgumentHelp("The User-Agent of requests.", valueName: "name"),
    transform: OptionValue.agent
  )
  var userAgent: String?

  @Option(
    name: [.customShort("u", allowingJoined: true), .customLong("user")],
    help: ArgumentHelp(
      "Send this user name, and the password that the terminal is asked for (Basic). env:NAME is a variable with both, as "
        + "NAME:PASSWORD. HOST= before it limits them to some hosts, with a pattern as in --limit. Repeatable.",
      valueName: "[host=]name|env:name"
    ),
    transform: OptionValue.user
  )
  var users: [UserSource] = []

  @Flag(help: "Answer Digest challenges (RFC 7616) with the users of -u HOST=NAME, instead of sending passwords.")
  var digest = false

  @Flag(
    help: ArgumentHelp(
      "Send the user names and passwords in ~/.netrc, or in the file that NETRC names, to their hosts (Basic). Its "
        + "default entry applies to all other hosts."))
  var netrc = false

  @Option(
    help: ArgumentHelp("The same from this file. User name and password in a URL take precedence.", valueName: "file"),
    completion: .file())
  var netrcFile: String?

  @Option(
    help: ArgumentHelp(
      "Send the token that this command prints, as Authorization: Bearer, to the hosts of --token-for. It runs before the "
        + "first request to one of them, and after a 401; for 30 seconds at most. Split at blanks, with quotes as in sh; "
        + "nothing is expanded.",
      valueName: "command"
    ),
    transform: { TokenCommand(words: try ShellWords.split($0)) }
  )
  var tokenCommand: TokenCommand?

  @Option(
    name: .customLong("token-for"),
    help: ArgumentHelp(
      "A host that gets the token, with a pattern as in --limit; over https only, and never after a redirect to another "
        + "server. Repeatable.",
      valueName: "host"
    ),
    transform: { try OptionValue.pattern($0) }
  )
  var tokenHosts: [HostPattern] = []

  func validate() throws {
    guard (tokenCommand == nil) == tokenHosts.isEmpty else {
      throw ValidationError("--token-command and --token-for belong together: give the command and its hosts.")
    }
    guard !tokenHosts.contains(where: { "\($0)".hasPrefix("*") && !"\($0)".hasPrefix("*.") }) else {
      throw ValidationError("--token-for must name the hosts that get the token, such as api.example.com.")
    }
    guard !digest || !users.isEmpty && users.allSatisfy({ $0.pattern != nil }) else {
      throw ValidationError("--digest needs users and their hosts: give -u HOST=NAME.")
    }
    guard netrcFile != "" else { throw ValidationError("--netrc-file needs the name of a file.") }
  }

  /// The file with passwords. Nil if not requested.
  func passwordFile() throws -> String? {
    if let netrcFile { return netrcFile }
    guard netrc else { return nil }
    guard let standard = NetrcFile.standard() else {
      throw ValidationError("--netrc: neither NETRC nor HOME is set; name the file with --netrc-file.")
    }
    return standard
  }
}
