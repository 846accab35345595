import ArgumentParser
import HeadgateDispatch
import HeadgateLibC

/// Where options come from that are not on the command line. ``SettingsFile`` has read them before these are parsed.
struct SettingsOptions: ParsableArguments {
  @Option(
    name: [.customShort("K", allowingJoined: true), .customLong("config")],
    help: ArgumentHelp(
      "Read options from this file too: long names without the dashes, one a line, such as per-host 4. Lines after "
        + "[fetch] or [call] are for that subcommand. Options of the command line come after them. Repeatable. "
        + "(default: ~/.config/headgate/config, if it exists)",
      valueName: "file"
    ), completion: .file()
  )
  var config: [String] = []

  @Flag(help: "Don't read the default file of -K.")
  var noConfig = false
}

/// A file with options, one a line.
///
///     # For all subcommands that send requests
///     per-host 4
///     limit api.example.com=2
///
///     [fetch]
///     session run
enum SettingsFile {
  /// The subcommands that have settings.
  static let subcommands = ["fetch", "call"]

  /// The arguments with those of the files after the subcommand, so that those of the command line, which come later, take
  /// precedence; and the paths of the files.
  ///
  /// - Throws: ``FetchProblem`` if a file can't be read or used. The default file need not exist.
  static func added(
    to arguments: [String], _ environment: (String) -> String? = Environment.value(of:)
  ) throws(FetchProblem) -> (arguments: [String], files: [String]) {
    guard let subcommand = arguments.first, subcommands.contains(subcommand) else { return (arguments, []) }
    let own = arguments.dropFirst().prefix { $0 != "--" }
    var files = paths(own)
    if !own.contains("--no-config"),
      let path = XDGFolder("XDG_CONFIG_HOME", orInHome: ".config", environment).map({ $0.path + "/config" }),
      access(path, F_OK) == 0
    {
      files.insert(path, at: 0)
    }
    var settings: [String] = []
    for file in files {
      // The last one keeps an option that lacks its value from taking an argument of the command line.
      settings += try options(read(file), of: file, for: subcommand) + ["--config=" + file]
    }
    return ([subcommand] + settings + arguments.dropFirst(), files)
  }

  private static func paths(_ arguments: some Sequence<String>) -> [String] {
    var paths: [String] = []
    var isNext = false
    for argument in arguments {
      if isNext {
        paths.append(argument)
        isNext = false
      } else if argument == "--config" {
        isNext = true
      } else if argument.hasPrefix("--config=") {
        paths.append(String(argument.dropFirst("--config=".count)))
      } else if let letters = argument.wholeMatch(of: /-[fkLnNOqRsSvZ]*K(.*)/) {
        // Alone, or the last of several letters without values.
        if letters.1.isEmpty { isNext = true } else { paths.append(String(letters.1)) }
      }
    }
    return paths
  }

  /// - Throws: ``FetchProblem`` also if someone else could have written the file: it decides where requests go, and with
  ///   which certificates.
  private static func read(_ path: String) throws(FetchProblem) -> [UInt8] {
    do throws(SystemError) {
      let file = try Descriptor.openForReading(path)
      defer { Descriptor.close(file) }
      var info = stat()
      guard fstat(file, &info) == 0 else { throw .last }
      guard info.st_mode & S_IFMT == S_IFREG else { throw SystemError(errno: EINVAL) }
      guard info.st_uid == geteuid() || info.st_uid == 0, info.st_mode & 0o022 == 0 else {
        throw SystemError(errno: EPERM)
      }
      var bytes: [UInt8] = []
      while case let piece = try Descriptor.read(file, atMost: 65_536), !piece.isEmpty {
        bytes += piece
        guard bytes.count <= 1 << 20 else { throw SystemError(errno: EFBIG) }
      }
      return bytes
    } catch {
      let reason =
        switch error.errno {
        case EPERM: "other users can write it; make it yours, and use chmod go-w"
        case EINVAL: "it is not a file"
        default: "\(error)"
        }
      throw FetchProblem("the settings in \(path) can't be used: \(reason); --no-config leaves the default ones out")
    }
  }

  /// The options of a file for a subcommand, as arguments.
  ///
  /// - Throws: ``FetchProblem`` with the line's number, and without its text, which may be secret.
  static func options(
    _ bytes: [UInt8], of path: String, for subcommand: String
  ) throws(FetchProblem) -> [String] {
    var options: [String] = []
    var isMeant = true
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      func problem(_ text: String) -> FetchProblem {
        FetchProblem("\(path), line \(index + 1): \(text)", status: .usage)
      }
      guard let text = String(validating: line, as: UTF8.self) else { throw problem("it is not UTF-8") }
      let words = trimmed(text[...])
      if words.isEmpty || words.hasPrefix("#") { continue }
      if words.hasPrefix("[") {
        guard words.hasSuffix("]"), subcommands.contains(String(words.dropFirst().dropLast())) else {
          throw problem("write [fetch] or [call]")
        }
        isMeant = words.dropFirst().dropLast() == subcommand
        continue
      }
      guard let option = option(words) else {
        throw problem("write a long option without its dashes, and its value, such as per-host 4")
      }
      guard !["config", "no-config", "help", "version"].contains(option.name) else {
        throw problem("\(option.name) has no place here")
      }
      guard isMeant else { continue }
      switch option.value {
      case nil: options.append("--" + option.name)
      case ""?: options += ["--" + option.name, ""]
      case let value?: options.append("--\(option.name)=\(value)")
      }
    }
    return options
  }

  /// `name`, `name value`, `name=value` or `name = value`.
  private static func option(_ words: Substring) -> (name: String, value: String?)? {
    var rest = words.hasPrefix("--") ? words.dropFirst(2) : words
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") }
    // A single letter would be a short option.
    guard name.count > 1, !name.hasPrefix("-") else { return nil }
    rest = rest.dropFirst(name.count)
    if rest.isEmpty { return (String(name), nil) }
    if rest.first == "=" { return (String(name), String(trimmed(rest.dropFirst()))) }
    guard isBlank(rest.first) else { return nil }
    rest = trimmed(rest)
    // The value of proto-redir begins with this sign.
    if rest == "=" || rest.first == "=" && isBlank(rest.dropFirst().first) { rest = trimmed(rest.dropFirst()) }
    return (String(name), String(rest))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  private static func isBlank(_ character: Character?) -> Bool {
    character == " " || character == "\t" || character == "\r"
  }
}
