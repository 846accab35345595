/// The lane of a request: each end-point has two.
public enum RequestLane: Hashable, Sendable {
  /// For requests that end soon by themselves. They may use every free permit of the end-point.
  case short

  /// For requests that stay open: an event stream, a download that takes hours. They may use only the long lane's
  /// share, so that some permits always remain for short requests.
  case long
}
