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

  @Flag(
    help: ArgumentHelp(
      "Take the names of files from the Content-Disposition field of responses; with -o these are {name}, {stem} and "
        + "{ext}. Files with the same name are numbered in the order of their arrival."))
  var contentDisposition = false
}
