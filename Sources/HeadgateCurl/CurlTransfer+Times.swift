import HeadgateDispatch

extension CurlTransfer {
  /// The seconds that the parts of the exchange took, as libcurl measured them.
  func times(from easy: CurlEasy) -> ExchangeTimes {
    var times = easy.times
    // For a connection that was open already libcurl counts a look-up in its own pool.
    if opened.isEmpty, isOnItsWay { times.name = 0 }
    return times
  }
}
