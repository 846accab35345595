import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Detects when credentials that are not limited to certain hosts are sent to more than one host.
final class SpreadCredentials: Sendable {
  private let names: [HTTPField.Name]
  private let hostFields: HostFields
  /// The first host that gets one of them. `isOver` is true after the warning, or if there are no credentials.
  private let state = Locked((first: String?.none, isOver: false))

  /// - Parameters:
  ///   - fields: The fields for all hosts.
  ///   - hostFields: The fields that replace them at some hosts.
  init(_ fields: HTTPFields, _ hostFields: HostFields) {
    var names: [HTTPField.Name] = []
    for field in fields where Self.isCredential(field.name) && !names.contains(field.name) { names.append(field.name) }
    (self.names, self.hostFields) = (names, hostFields)
    if names.isEmpty { state.withLock { $0.isOver = true } }
  }

  /// Called for each URL before its request. Returns the warning, once.
  func warning(at endPoint: EndPoint) -> String? {
    state.withLock { state in
      guard !state.isOver, state.first != endPoint.host else { return nil }
      let sent = names.filter { !hostFields.have($0, for: endPoint) }
      guard !sent.isEmpty else { return nil }
      guard let first = state.first else {
        state.first = endPoint.host
        return nil
      }
      state.isOver = true
      let fields = sent.map(\.rawName).joined(separator: ", ")
      let host = first.contains(":") ? "[\(first)]" : first
      return "\(fields) is sent to every host (\(first), \(endPoint.host), …): "
        + "-H '\(host)=\(sent[0].rawName): …' sends it to that host alone"
    }
  }

  /// Whether a field is a credential, by its name. Servers invent names, so parts of names are compared.
  static func isCredential(_ name: HTTPField.Name) -> Bool {
    let words = [
      "authorization", "cookie", "token", "secret", "api-key", "apikey", "subscription-key", "access-key", "auth-key",
      "password",
    ]
    return words.contains { name.canonicalName.contains($0) }
  }
}
