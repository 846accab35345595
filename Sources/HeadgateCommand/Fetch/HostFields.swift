import HTTPTypes
import HeadgateDispatch

/// Header fields for some hosts only.
struct HostFields: Sendable {
  private var names: [HTTPField.Name] = []
  private var fields: [HTTPField.Name: [HostPattern: [HTTPField]]] = [:]

  mutating func add(_ field: HTTPField, for pattern: HostPattern) {
    if fields[field.name] == nil { names.append(field.name) }
    fields[field.name, default: [:]][pattern, default: []].append(field)
  }

  /// Whether a host has fields of its own with this name.
  func have(_ name: HTTPField.Name, for endPoint: EndPoint) -> Bool { own(name, endPoint) != nil }

  /// Whether any host has fields of its own with this name.
  func have(_ name: HTTPField.Name) -> Bool { fields[name] != nil }

  /// Replaces fields with the host's own fields of the same names. For each name, the most specific pattern applies.
  func apply(to headerFields: inout HTTPFields, for endPoint: EndPoint) {
    for name in names {
      guard let own = own(name, endPoint) else { continue }
      headerFields[name] = nil
      for field in own { headerFields.append(field) }
    }
  }

  private func own(_ name: HTTPField.Name, _ endPoint: EndPoint) -> [HTTPField]? {
    fields[name].flatMap { HostPattern.mostSpecific(in: $0, for: endPoint) }
  }
}
