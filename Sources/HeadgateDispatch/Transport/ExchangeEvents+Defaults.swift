import HTTPTypes

extension ExchangeEvents {
  /// Does nothing: for consumers that have no use for trailers.
  public func received(trailers: HTTPFields) {}

  /// Does nothing: then no more exchanges are started at once than there may be sockets.
  public func multiplexes(_ does: Bool) {}

  /// Does nothing: then the time counts as running.
  public func waitsForSocket() {}

  /// Does nothing.
  public func goesOn() {}

  /// Does nothing: then only heads and pieces of bodies count for `idleTimeout`.
  public func heard() {}
}

extension Transport {
  /// Nothing beyond the plain exchange.
  public var capabilities: TransportCapabilities { [] }
}
