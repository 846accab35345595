import HeadgateDispatch
import HeadgateSharing

#if Redis
import HeadgateRedis
#endif

/// Limits shared through Redis: `redis://user@host:port/database#namespace`, with the password in the environment.
enum RedisShare {
  /// The variable with the password: arguments can be seen by other users.
  static let variable = "HEADGATE_REDIS_PASSWORD"

  #if Redis
  static func coordinator(_ text: String, _ outage: OutagePolicy) throws(FetchProblem) -> any GateCoordinator {
    let (url, name) = parts(text, password: Descriptor.environment(variable))
    do throws(RedisError) { return try RedisCoordinator(url, namespace: name, outage: outage) } catch {
      throw FetchProblem("--share: \(error)", status: .usage)
    }
  }

  /// The state of a namespace.
  static func state(_ text: String) throws(FetchProblem) -> PermitState {
    do throws(RedisError) {
      let (programs, scopes) = try namespace(text).status()
      var state = PermitState()
      state.programs = programs
      state.held = held(scopes.map { ($0.scope, $0.running) })
      // Each request counts in its scopes too, as permits do.
      state.waiting = held(scopes.map { ($0.scope, $0.waiting) })
      state.places = scopes.map { .init($0.scope, running: $0.running, waiting: $0.waiting, limit: $0.limit) }
      return state
    } catch {
      throw FetchProblem("\(error)", status: .network)
    }
  }

  /// Sets limits in a namespace. Returns how many were set.
  static func configure(
    _ text: String, version: Int, _ limits: [EndPoint: EndPointLimits], quarantine: Duration
  ) throws(FetchProblem) -> Int {
    do throws(RedisError) {
      return try namespace(text).configure(version: version, endPoints: limits, quarantine: quarantine)
    } catch {
      throw FetchProblem("\(error)", status: .network)
    }
  }

  /// Tells the programs of a namespace of a pause.
  static func tell(_ pause: SharedPause, _ text: String) throws(FetchProblem) {
    do throws(RedisError) { try namespace(text).tell(pause) } catch { throw FetchProblem("\(error)", status: .network) }
  }

  private static func namespace(_ text: String) throws(RedisError) -> RedisNamespace {
    let (url, name) = parts(text, password: Descriptor.environment(variable))
    return try RedisNamespace(url, name)
  }
  #else
  static func coordinator(_ text: String, _ outage: OutagePolicy) throws(FetchProblem) -> any GateCoordinator {
    throw missing
  }

  static func state(_ text: String) throws(FetchProblem) -> PermitState { throw missing }

  static func configure(
    _ text: String, version: Int, _ limits: [EndPoint: EndPointLimits], quarantine: Duration
  ) throws(FetchProblem) -> Int {
    throw missing
  }

  static func tell(_ pause: SharedPause, _ text: String) throws(FetchProblem) { throw missing }

  private static var missing: FetchProblem {
    FetchProblem(
      "this headgate was built without Redis; build it with swift build -c release --traits Redis, or share with unix",
      status: .usage)
  }
  #endif

  /// The number of permits that run. Each counts once in its end-point, and again in its lane and its scopes.
  static func held(_ scopes: [(scope: String, running: Int)]) -> Int {
    let others = ["key ", "route ", "group "]
    return scopes.reduce(0) { sum, next in
      let isEndPoint = !next.scope.hasSuffix("|long") && !others.contains { next.scope.hasPrefix($0) }
      return isEndPoint ? sum + next.running : sum
    }
  }

  /// The URL with the password, and the namespace, which is the URL's fragment.
  static func parts(_ text: String, password: String?) -> (url: String, name: String) {
    let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.count > 1 ? String(parts[1]) : "headgate"
    var url = String(parts[0])
    if let password, let slashes = url.firstRange(of: "://") {
      let rest = url[slashes.upperBound...]
      let at = rest.firstIndex(of: "@")
      let user = at.map { rest[..<$0] } ?? ""
      if !user.contains(":") {
        let host = at.map { rest[rest.index(after: $0)...] } ?? rest
        url = "\(url[..<slashes.upperBound])\(user):\(URLText.escaped(password))@\(host)"
      }
    }
    return (url, name)
  }
}
