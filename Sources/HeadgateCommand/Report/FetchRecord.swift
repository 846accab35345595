import HeadgateDispatch
import HeadgateThreads

/// The record of a URL in the log. Null stands for values that are unknown or do not apply.
struct FetchRecord: Equatable, Sendable {
  /// The requested URL. Its password is not written.
  var url: String
  /// The method. Written only if it is not GET.
  var method: String?
  /// The URL of the response, after redirects.
  var finalURL: String?
  /// The end-point of the response or of the failure.
  var endPoint: EndPoint?
  var status: Int?
  /// The HTTP version of the response, such as `HTTP/1.1`.
  var version: String?
  /// The name of the error: a code of `DispatchError`, or `http_error`.
  var error: String?
  /// The text of the error, as in the messages. Control characters are escaped.
  var message: String?
  /// The number of attempts. 0 if the request was never sent.
  var attempts = 0
  var bytes: Int?
  var file: String?
  /// The SHA-256 of the body, if a checksum was expected.
  var sha256: Checksum?
  /// The URL that was requested last, if it is a mirror.
  var mirror: String?
  /// The time spent waiting for permits. It is not part of the times below.
  var queued: Double?
  /// What it waited for in this time. Not written if nothing, or if that was no millisecond.
  var waited = WaitTimes()
  /// The times of the last exchange, from its start.
  var exchange: ExchangeTimes?
  /// The time from the submission to the end.
  var total: Double?
  /// When the URL was submitted and sent, and the pauses that began since the previous record.
  var timeline: URLTimeline?
  /// The time of the end, in the format of RFC 3339.
  var time: String?

  var json: String {
    var line = JSONLine()
    line.add("url", ShownText.withoutPassword(url))
    if let method, method != "GET" { line.add("method", method) }
    line.add("final_url", finalURL.map(ShownText.withoutPassword))
    line.add("end_point", endPoint?.description)
    line.add("status", status)
    line.add("http_version", version)
    line.add("error", error)
    line.add("message", message)
    line.add("attempts", attempts)
    line.add("bytes", bytes)
    line.add("file", file)
    if let sha256 { line.add("sha256", sha256.description) }
    if let mirror { line.add("mirror", ShownText.withoutPassword(mirror)) }
    line.add("queued", seconds: queued)
    line.add(waited: waited)
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
