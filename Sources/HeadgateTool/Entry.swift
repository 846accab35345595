import HeadgateCommand

@main enum Entry {
  static func main() { HeadgateCommandLine.main() }
}
