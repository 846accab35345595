import HeadgateDispatch
import HeadgateThreads

/// The hosts that a limit is for: those of a group, if there is one of this name, or else those of a pattern.
struct LimitedHosts: Hashable, Sendable {
  let pattern: HostPattern
  /// The text, if a group may have this name.
  let name: String?

  init(_ text: String) throws(OptionError) {
    do throws(LimitError) { pattern = try HostPattern(text) } catch { throw OptionError("\(error)") }
    name = HostGroups.name(text)
  }
}

/// Groups of hosts. All hosts of a group have one budget: the limits of `--limit` and `--rate` for its name.
struct HostGroups: Sendable {
  /// A `--group`. Several of one name are one group.
  struct Rule: Hashable, Sendable {
    let name: String
    let patterns: [HostPattern]
  }

  struct Group: Sendable {
    let name: String
    fileprivate(set) var patterns: [HostPattern]
    fileprivate(set) var limits: ScopeLimits
    // The keys are the patterns.
    fileprivate var members: [HostPattern: Bool]

    fileprivate init(_ name: String, _ limits: ScopeLimits) {
      (self.name, self.limits, patterns, members) = (name, limits, [], [:])
    }

    var scope: RequestScope { .group(name) }

    /// O(labels of the host).
    func contains(_ endPoint: EndPoint) -> Bool { HostPattern.mostSpecific(in: members, for: endPoint) ?? false }

    fileprivate mutating func add(_ added: [HostPattern]) {
      for pattern in added where members.updateValue(true, forKey: pattern) == nil { patterns.append(pattern) }
    }
  }

  /// In the order of the options.
  private(set) var all: [Group] = []

  var isEmpty: Bool { all.isEmpty }

  /// The limits of the groups, by their scopes.
  var limits: [RequestScope: ScopeLimits] { Dictionary(all.map { ($0.scope, $0.limits) }) { $1 } }

  /// The groups of a host. A host may be in several, and counts in each of them.
  func groups(of endPoint: EndPoint) -> [Group] { all.filter { $0.contains(endPoint) } }

  func scopes(of endPoint: EndPoint) -> [RequestScope] { groups(of: endPoint).map(\.scope) }

  /// The name of a group, or nil if the text can't be one: a name is never an address, and looks like no domain.
  static func name(_ text: String) -> String? {
    let name = text.lowercased()
    guard name.first?.isLetter == true, name != "localhost" else { return nil }
    return name.utf8.allSatisfy(isNameByte) ? name : nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
    default: false
    }
  }
}

extension HostGroups {
  /// Makes groups of options.
  ///
  /// - Throws: ``OptionError`` if a group has no limits, if a name is that of a group and of a host, or of neither.
  init(_ rules: [Rule], limits: [HostRule], rates: [RateRule], bandwidths: [BandwidthRule]) throws(OptionError) {
    guard !rules.isEmpty else { return }
    let names = rules.map(\.name)
    for (option, target) in limits.map({ ("--limit", $0.hosts) }) + rates.map({ ("--rate", $0.hosts) }) {
      guard let name = target?.name, !names.contains(name) else { continue }
      // Beside groups, a name of one word is nearly always one of theirs.
      throw OptionError(
        "\(option) \(name)=…: there is no group of this name, only \(names.joined(separator: ", ")); for a host, write "
          + "'\(name).=…', with a dot.")
    }
    for rule in rules where !all.contains(where: { $0.name == rule.name }) {
      let requests = limits.last { $0.hosts.name == rule.name }?.limits.requests
      let rates = rates.filter { $0.hosts?.name == rule.name }.map(\.rate)
      guard requests != nil || !rates.isEmpty else {
        throw OptionError(
          "The group \(rule.name) has no limit; give --limit \(rule.name)=N or --rate \(rule.name)=N/s too.")
      }
      do throws(LimitError) {
        all.append(Group(rule.name, try ScopeLimits(requests: requests, rates: rates)))
      } catch {
        throw OptionError("The group \(rule.name): \(error).")
      }
    }
    for rule in rules {
      for index in all.indices where all[index].name == rule.name { all[index].add(rule.patterns) }
    }
    let hosts = Set(all.flatMap(\.patterns).map { String($0.description.prefix { $0 != ":" }) })
    if let both = all.first(where: { hosts.contains($0.name) })?.name {
      throw OptionError("\(both) is the name of a group and of a host in a group; give the group another name.")
    }
    for rule in bandwidths {
      guard let name = rule.hosts?.name, has(name) else { continue }
      throw OptionError(
        "--limit-rate \(name)=… can't be for a group: give a host or a pattern, such as "
          + "--limit-rate '\(all.first { $0.name == name }?.patterns.first?.description ?? "HOST")=…', for each host.")
    }
  }

  func has(_ name: String) -> Bool { all.contains { $0.name == name } }

  /// Whether a limit is for a group.
  func include(_ target: LimitedHosts?) -> Bool { target?.name.map(has) ?? false }
}

/// Finds groups and patterns of limits without any host.
final class UnmetHosts: Sendable {
  private struct Unmet: Sendable {
    var groups: [HostGroups.Group]
    // Each is the key of a table of its own.
    var patterns: [[HostPattern: Bool]]

    var isEmpty: Bool { groups.isEmpty && patterns.isEmpty }
  }

  private let unmet: Locked<Unmet>
  private let isEmpty: Bool

  /// - Parameters:
  ///   - groups: The groups.
  ///   - patterns: The patterns of hosts that have limits of their own.
  init(_ groups: HostGroups, _ patterns: some Sequence<HostPattern>) {
    let sorted = patterns.sorted { $0.description < $1.description }
    let unmet = Unmet(groups: groups.all, patterns: sorted.map { [$0: true] })
    isEmpty = unmet.isEmpty
    self.unmet = Locked(unmet)
  }

  /// Called for each request. Its scopes tell its groups also over a socket.
  func meet(_ request: DispatchRequest) {
    guard !isEmpty else { return }
    let (scopes, endPoint) = (request.scopes, request.endPoint)
    unmet.withLock { unmet in
      guard !unmet.isEmpty else { return }
      unmet.groups.removeAll { scopes.contains($0.scope) }
      unmet.patterns.removeAll { HostPattern.mostSpecific(in: $0, for: endPoint) ?? false }
    }
  }

  /// A line for each group, and then for each pattern, of which no host was met.
  var remarks: [String] {
    unmet.withLock { unmet in
      unmet.groups.map(\.remark)
        + unmet.patterns.flatMap(\.keys).map { "limits for \($0): no URL is there" }
    }
  }
}

extension HostGroups.Group {
  /// The line on a group to which no URL belongs.
  var remark: String { "group \(name): no URL is at \(patterns.map(\.description).joined(separator: ", "))" }
}

/// Counts a request that a redirect has led to another host in the groups of that host.
struct RedirectGroups: RequestInterceptor {
  let groups: HostGroups

  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    // Over a socket, the groups are those of the URL's own host.
    if !request.endPoint.isUnixSocket { request.scopes = groups.scopes(of: request.endPoint) }
  }
}

extension OptionValue {
  /// `ncbi=*.ncbi.nlm.nih.gov`, or with several hosts `mirrors=a.example.com,b.example.com`.
  static func group(_ text: String) throws(OptionError) -> HostGroups.Rule {
    guard let sign = text.firstIndex(of: "=") else {
      throw OptionError("write it as name=host, such as 'ncbi=*.ncbi.nlm.nih.gov' or mirrors=a.example,b.example")
    }
    let written = String(text[..<sign])
    guard let name = HostGroups.name(written) else {
      throw OptionError(
        "\"\(written)\" can't be the name of a group, which begins with a letter, has letters, digits and hyphens, and "
          + "is no host")
    }
    let hosts = text[text.index(after: sign)...].split(separator: ",", omittingEmptySubsequences: false)
    var patterns: [HostPattern] = []
    for host in hosts {
      let host = host.drop { $0 == " " }
      do throws(LimitError) { patterns.append(try HostPattern(String(host))) } catch { throw OptionError("\(error)") }
    }
    return HostGroups.Rule(name: name, patterns: patterns)
  }
}
