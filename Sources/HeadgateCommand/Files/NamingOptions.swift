import ArgumentParser

/// Options for the names of files.
struct NamingOptions: ParsableArguments {
  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "The path of each file below the folder of -P or the current folder: a name, or a text with {host}, {port}, {path} "
        + "(the folders of the URL's path), {name} (the name without -o), {stem} and {ext} (its parts), {n} (the URL's "
        + "number), {line} (its line in its list), {hash} or {hash:2} (digits of the URL's SHA-256). Folders are made.",
      valueName: "template"
    ),
    transform: { try OutputTemplate($0) }
  )
  var output: OutputTemplate?
}
