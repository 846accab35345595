import ArgumentParser
import HeadgateDispatch

/// Limits on the size and speed of downloads, and on disk space for waiting bodies.
struct AmountOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The maximum size of a body in bytes; K, M and G mean 1024, 1024^2 and 1024^3. A larger one is an error.",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxFilesize: Int?

  @Option(
    help: ArgumentHelp(
      "The minimum speed in bytes per second over each --speed-time; a slower URL is an error. K, M and G as above.",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var speedLimit: Int?

  @Option(
    help: ArgumentHelp(
      "The interval for --speed-limit. Without --speed-limit, the limit is one byte per second. (default: 30)",
      valueName: "seconds"
    ),
    transform: OptionValue.seconds
  )
  var speedTime: Duration?

  @Option(
    help: ArgumentHelp(
      "The maximum disk space for bodies that wait for their turn at standard output; a body beyond it is "
        + "an error. If bodies go to files, the maximum for lines of the list that are read ahead, "
        + "up to 1G. (default: 4G)",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxHeld = 4 << 30

  /// The minimum speed. Nil if none was requested.
  var minimumSpeed: TransferSpeed? {
    guard speedLimit != nil || speedTime != nil else { return nil }
    return TransferSpeed(bytesPerSecond: speedLimit ?? 1, over: speedTime ?? .seconds(30))
  }
}
