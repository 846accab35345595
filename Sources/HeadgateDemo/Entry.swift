import HeadgateCommand

/// The command, with a demo that compares Headgate with the platform's own client too. That client needs all of
/// Foundation, which would make the command several times as large.
@main enum Entry {
  static func main() { HeadgateCommandLine.main(demo: [URLSessionClient.inDemo]) }
}
