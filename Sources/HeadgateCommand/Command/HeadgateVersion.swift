/// The version of the command.
enum HeadgateVersion {
  static let current = "0.1.0"
}
