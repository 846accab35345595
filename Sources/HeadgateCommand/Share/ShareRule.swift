import HeadgateDispatch
import HeadgateSharing
import HeadgateThreads

/// With whom limits are shared.
enum ShareRule: Hashable, Sendable {
  /// With the programs of the user on this machine.
  case unix(PermitFolder)
  /// With all programs at a Redis server.
  case redis(String)

  /// The coordinator, which connects at its first use.
  func coordinator(_ outage: OutagePolicy) throws(FetchProblem) -> any GateCoordinator {
    switch self {
    case .unix(let folder):
      UnixCoordinator(folder: folder, outage: outage) { folder throws(SharingError) in
        try ShareServerProcess.start(in: folder)
      }
    case .redis(let url): try RedisShare.coordinator(url, outage)
    }
  }
}

extension OptionValue {
  /// `unix`, `unix:FOLDER` or `redis://…`.
  static func share(_ text: String) throws(OptionError) -> ShareRule {
    if text == "unix" { return .unix(.user) }
    if text.hasPrefix("unix:/") { return .unix(PermitFolder(path: String(text.dropFirst(5)))) }
    if text.hasPrefix("redis://") || text.hasPrefix("rediss://") { return .redis(text) }
    throw OptionError("write unix, unix:/FOLDER or redis://HOST:PORT")
  }

  /// `host:port` or a URL.
  static func endPoint(_ text: String) throws(OptionError) -> EndPoint {
    if text.contains("://"), let request = try? DispatchRequest(text) { return request.endPoint }
    guard let endPoint = EndPoint(sharedName: text), !endPoint.isResource else {
      throw OptionError("write the host and the port, such as api.example.com:443, or a URL")
    }
    return endPoint
  }

  /// An address of this machine, and a port.
  static func loopback(_ text: String) throws(OptionError) -> EndPoint {
    guard let endPoint = EndPoint(sharedName: text), endPoint.isLoopback, endPoint.isIPv4 || endPoint.isIPv6 else {
      throw OptionError("write an address that only this machine reaches, such as 127.0.0.1:9464 or [::1]:9464")
    }
    return endPoint
  }

  /// `host:port`, a URL, or the name of a resource of this machine.
  static func held(_ text: String) throws(OptionError) -> EndPoint {
    if let resource = EndPoint(resource: text) { return resource }
    do throws(OptionError) { return try endPoint(text) } catch {
      throw OptionError(
        "\(error.description); or name a resource of this machine, such as builds, with letters, digits, - and _")
    }
  }

  /// 1 to 255.
  static func exitStatus(_ text: String) throws(OptionError) -> Int32 {
    guard let status = Int32(text), (1...255).contains(status) else { throw OptionError("give a status from 1 to 255") }
    return status
  }

  /// `10/s`.
  static func plainRate(_ text: String) throws(OptionError) -> Rate {
    do throws(LimitError) { return try Rate(text) } catch { throw OptionError("\(error)") }
  }

  /// `800=90000/min`.
  static func heldWeight(_ text: String) throws(OptionError) -> HeldWeight {
    let usage = "write this command's units, = and the units of all per period, such as 800=90000/min"
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, let units = Int(parts[0]), units >= 0 else { throw OptionError(usage) }
    // One name for all commands, whatever their own units.
    let rule: WeightRule
    do throws(OptionError) { rule = try WeightRule("weight=\(parts[1])") } catch { throw OptionError(usage) }
    guard units <= rule.budget.units else {
      throw OptionError("\(units) of \(rule.budget.units) units would never be granted; give more units per period")
    }
    do throws(LimitError) {
      return HeldWeight(
        units: units, budget: try Budget("weight", units: rule.budget.units, per: rule.budget.window))
    } catch {
      throw OptionError("\(error)")
    }
  }

  /// `closed`, `closed:SECONDS`, `divide` or `open:N`.
  static func outage(_ text: String) throws(OptionError) -> OutagePolicy {
    let parts = text.split(separator: ":", maxSplits: 1)
    switch (parts.first, parts.count) {
    case ("closed", 1): return .failClosed()
    case ("closed", 2):
      if parts[1] == "0" { return .failClosed(after: .zero) }
      return .failClosed(after: try seconds(String(parts[1])))
    case ("divide", 1): return .localShare
    case ("open", 2):
      let requests = try count(String(parts[1]))
      guard let limits = try? EndPointLimits(requests: requests) else { break }
      return .failOpen(limits)
    default: break
    }
    throw OptionError("write closed, closed:SECONDS, divide or open:N")
  }
}
