import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// What a granted permit is for, and the limits in force: a file beside the permit's pipe, for a later server. It
/// consists of lines of the protocol.
struct PermitRecord: Hashable {
  let ask: PermitAsk
  /// Nil if they were not written, or can't be read.
  let limits: EndPointLimits?
  let scopes: [RequestScope: ScopeLimits]

  init(_ ask: PermitAsk, _ limits: (EndPointLimits?, [RequestScope: ScopeLimits])) {
    self.ask = ask
    (self.limits, scopes) = limits
  }

  /// Nil if the text does not say what the permit is for. Limits that can't be read are left out: the permit is held
  /// all the same. The limits of many programs together may be longer than a line.
  init?(text: String) {
    var ask: PermitAsk?
    var limits: EndPointLimits?
    var scopes: [RequestScope: ScopeLimits] = [:]
    for line in text.split(separator: "\n") {
      switch try? PermitCommand(line: String(line)) {
      case .ask(_, let found): ask = found
      case .limitEndPoint(_, let found): limits = found
      case .limitScope(let scope, let found): scopes[scope] = found
      default: continue
      }
    }
    guard let ask else { return nil }
    self.init(ask, (limits, scopes))
  }

  var text: String {
    let own = scopes.sorted { $0.key.description < $1.key.description }.map { PermitCommand.limitScope($0, $1) }
    let first = limits.map { [PermitCommand.limitEndPoint(ask.endPoint, $0)] } ?? []
    let lines = first + own + [.ask(0, ask)]
    return lines.map { $0.line + "\n" }.joined()
  }

  func write(to path: String) throws(SystemFailure) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemFailure("create \(path)") }
    defer { close(file) }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { platformWrite(file, $0) }
      guard count > 0 || errno == EINTR else { throw SystemFailure("write \(path)") }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// Nil if there is none, or if it is incomplete because its server was killed.
  ///
  /// - Throws: if there is one that can't be read now, for example because no descriptor is left.
  static func read(from path: String) throws(SystemFailure) -> PermitRecord? {
    guard let bytes = try SmallFile.read(path) else { return nil }
    return PermitRecord(text: String(decoding: bytes, as: UTF8.self))
  }
}

private func platformWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(file, bytes.baseAddress, bytes.count)
}
