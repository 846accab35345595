import ArgumentParser
import HeadgateDispatch

/// How much a URL may bring, how slowly, and how much of it may wait on this machine's disk.
struct AmountOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The most bytes of a body, with K, M or G for 1024, 1024² or 1024³ of them; a longer one is an error.",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxFilesize: Int?

  @Option(
    help: ArgumentHelp(
      "The least bytes a second, over each --speed-time; a slower URL is an error. K, M and G as above.",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var speedLimit: Int?

  @Option(
    help: ArgumentHelp(
      "The time that --speed-limit is looked at over. Alone it stands for a limit of one byte a second. (default: 30)",
      valueName: "seconds"
    ),
    transform: OptionValue.seconds
  )
  var speedTime: Duration?

  @Option(
    help: ArgumentHelp(
      "The most disk that bodies take together while they wait for their turn at the standard output; one beyond it is "
        + "an error. Where bodies go to files, the most that lines of the list take which are read ahead of their turn, "
        + "up to 1G. (default: 4G)",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxHeld = 4 << 30

  /// The least speed; nil when nobody asked for one.
  var leastSpeed: TransferSpeed? {
    guard speedLimit != nil || speedTime != nil else { return nil }
    return TransferSpeed(bytesPerSecond: speedLimit ?? 1, over: speedTime ?? .seconds(30))
  }
}
