/// How much of a request's body has been sent: handed to the transport, which keeps some 64 KB, and the system, which
/// keeps what it likes, on their way.
public struct UploadProgress: Hashable, Sendable {
  /// How many bytes have been sent at most: a body that is sent again counts once.
  public let sent: Int64

  /// How many there are; nil while that is not known.
  public let total: Int64?

  /// Some bytes of a total.
  ///
  /// - Parameters:
  ///   - sent: How many bytes have been sent.
  ///   - total: How many there are; nil if that is not known.
  public init(sent: Int64, total: Int64?) {
    self.sent = sent
    self.total = total
  }

  /// What part has been sent, from 0 to 1; nil while the total is not known. Nothing of nothing is 1.
  public var fraction: Double? {
    total.map { $0 > 0 ? min(1, Double(sent) / Double($0)) : 1 }
  }
}
