import HeadgateDispatch
import HeadgateThreads

/// What the log says of one URL. Null stands for what did not happen or is not known.
struct FetchRecord: Equatable, Sendable {
  /// As it was asked for. Its password is not written.
  var url: String
  /// The URL that answered, after redirects.
  var finalURL: String?
  /// The end-point that answered or failed.
  var endPoint: EndPoint?
  var status: Int?
  /// The version of HTTP that it came by: `HTTP/1.1`.
  var version: String?
  /// The error's word: a code of `DispatchError`, or `http_error`.
  var error: String?
  /// The error as the messages have it. Control characters are escaped.
  var message: String?
  /// How many times it was asked; 0: never.
  var attempts = 0
  var bytes: Int?
  var file: String?
  /// Waiting for permits; not part of the times that follow.
  var queued: Double?
  /// The last exchange's times, each from that exchange's start.
  var exchange: ExchangeTimes?
  /// From the submission to the end.
  var total: Double?
  /// When it was submitted, each time it was sent, and the pauses that began since the record before.
  var timeline: URLTimeline?
  /// When it ended, by RFC 3339.
  var time: String?

  var json: String {
    var line = JSONLine()
    line.add("url", ShownText.withoutPassword(url))
    line.add("final_url", finalURL.map(ShownText.withoutPassword))
    line.add("end_point", endPoint?.description)
    line.add("status", status)
    line.add("http_version", version)
    line.add("error", error)
    line.add("message", message)
    line.add("attempts", attempts)
    line.add("bytes", bytes)
    line.add("file", file)
    line.add("queued", seconds: queued)
    line.add("dns", seconds: exchange?.name.inSeconds)
    line.add("connect", seconds: exchange?.connect.inSeconds)
    line.add("tls", seconds: exchange?.tls.inSeconds)
    line.add("first_byte", seconds: exchange?.firstByte.inSeconds)
    line.add("total", seconds: total)
    timeline?.add(to: &line)
    line.add("time", time)
    return line.line
  }
}
