import ArgumentParser

/// Which redirects are followed.
struct RedirectOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Redirects that a URL may take; 0 makes the first one an error. (default: 20)", valueName: "n"),
    transform: OptionValue.whole
  )
  var maxRedirs = 20

  @Option(
    help: ArgumentHelp(
      "Which to follow: none; same-origin, those that stay at their scheme, host and port; no-downgrade, all but those "
        + "from https to http; all.",
      valueName: "which"
    )
  )
  var redirects = FollowedRedirects.noDowngrade

  @Option(
    help: ArgumentHelp("Follow redirects only to these schemes: =https, =http,https.", valueName: "schemes"),
    transform: OptionValue.redirectSchemes
  )
  var protoRedir: Set<RedirectScheme>?

  @Flag(
    help: ArgumentHelp(
      "Let public servers redirect to private addresses: this machine, its network, a cloud's metadata. "
        + "Otherwise they may not.")
  )
  var allowPrivateRedirects = false

  /// The rule that these make.
  var rule: RedirectRule {
    RedirectRule(followed: redirects, schemes: protoRedir, allowsPrivate: allowPrivateRedirects)
  }
}

extension FollowedRedirects: ExpressibleByArgument {}
