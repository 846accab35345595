/// Which of an end-point's two lanes a request goes by.
public enum RequestLane: Hashable, Sendable {
  /// Ends soon by itself. May use every permit of the end-point that is free.
  case short

  /// Stays open: a stream of events, a download of hours. May use only the long lane's share, so that short requests
  /// always find a permit beside it.
  case long
}
