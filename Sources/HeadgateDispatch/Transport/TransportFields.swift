import HTTPTypes

extension HTTPField.Name {
  /// Whether the field belongs to the exchange and not to the request: the transport sets it, and leaves out what is given
  /// for it, since a wrong length would break the connection's order.
  package var isTransports: Bool { self == .contentLength || self == .connection || self == .transferEncoding }
}
