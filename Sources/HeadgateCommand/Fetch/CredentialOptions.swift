import ArgumentParser

/// What a request says of who asks: header fields and passwords, from places where nobody else can read them too.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    help: ArgumentHelp(
      "A header field for every request; @FILE reads a file with one field a line, in which blank lines and # comments "
        + "are passed over. Repeatable.",
      valueName: "name: value|@file"
    ),
    transform: OptionValue.headerSource
  )
  var headers: [HeaderSource] = []

  @Option(
    name: .customLong("header-env"),
    help: ArgumentHelp(
      "A header field whose value is that of an environment variable. Repeatable.", valueName: "name=variable"),
    transform: OptionValue.headerVariable
  )
  var headerVariables: [HeaderSource] = []

  @Option(
    name: [.customShort("A", allowingJoined: true), .long],
    help: ArgumentHelp("What requests say of the program that asks: the field User-Agent.", valueName: "name"),
    transform: OptionValue.agent
  )
  var userAgent: String?

  @Flag(
    help: ArgumentHelp(
      "Send hosts the names and passwords that ~/.netrc, or the file that NETRC names, has for them (Basic). Its default "
        + "entry is for all other hosts."))
  var netrc = false

  @Option(
    help: ArgumentHelp("The same, from this file. A URL's own name and password come first.", valueName: "file"))
  var netrcFile: String?

  func validate() throws {
    guard netrcFile != "" else { throw ValidationError("--netrc-file needs the name of a file.") }
  }

  /// The file with passwords; nil when nobody asked for it.
  func passwordFile() throws -> String? {
    if let netrcFile { return netrcFile }
    guard netrc else { return nil }
    guard let standard = NetrcFile.standard() else {
      throw ValidationError("--netrc: neither NETRC nor HOME is set; name the file with --netrc-file.")
    }
    return standard
  }
}
