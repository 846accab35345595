import ArgumentParser

/// Which redirects are followed.
struct RedirectOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The maximum number of redirects for a URL; with 0 the first one is an error. (default: 20)", valueName: "n"),
    transform: OptionValue.whole
  )
  var maxRedirs = 20

  @Option(
    help: ArgumentHelp(
      "Which redirects to follow: none; same-origin, those to the same scheme, host and port; no-downgrade, all except "
        + "from https to http; all. (default: no-downgrade)",
      valueName: "which"
    )
  )
  var redirects = FollowedRedirects.noDowngrade

  @Option(
    help: ArgumentHelp("Follow redirects only to these schemes: =https, =http,https.", valueName: "schemes"),
    completion: .list(["=https", "=http,https"]),
    transform: OptionValue.redirectSchemes
  )
  var protoRedir: Set<RedirectScheme>?

  @Flag(
    help: ArgumentHelp(
      "Follow redirects from public servers to private addresses: this machine, its network, a cloud's metadata "
        + "service.")
  )
  var allowPrivateRedirects = false

  /// The rule of these options.
  var rule: RedirectRule {
    RedirectRule(followed: redirects, schemes: protoRedir, allowsPrivate: allowPrivateRedirects)
  }
}

extension FollowedRedirects: ExpressibleByArgument {}
