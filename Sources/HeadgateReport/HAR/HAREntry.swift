/// One record as an entry of an HTTP Archive.
struct HAREntry {
  let record: LogRecord

  init(_ record: LogRecord) { self.record = record }

  /// In milliseconds. Phases that did not happen are -1, as the format specifies.
  struct Timings: Equatable {
    var blocked = -1.0
    var dns = -1.0
    var connect = -1.0
    var ssl = -1.0
    var wait = 0.0
    var receive = 0.0

    // `ssl` is a part of `connect`.
    var total: Double { max(0, blocked) + max(0, dns) + max(0, connect) + wait + receive }
  }

  /// The log contains each phase of the last exchange, measured from its start.
  var timings: Timings {
    var timings = Timings()
    let ran = record.exchanges.last.map { $0.end - $0.start } ?? max(0, (record.total ?? 0) - (record.queued ?? 0))
    // The queue, and if it was sent more than once, the earlier exchanges and the rests after them.
    let before = max(record.queued ?? 0, (record.total ?? 0) - ran)
    if record.queued != nil || before > 0 { timings.blocked = before * 1000 }
    let name = record.name ?? 0
    let connect = max(name, record.connect ?? 0)
    let tls = max(connect, record.tls ?? 0)
    // Without a response, all of the time was waiting for one.
    let firstByte = max(tls, record.firstByte ?? (record.status == nil ? ran : 0))
    // A reused connection needs none of these phases.
    if connect > 0 {
      timings.dns = name * 1000
      timings.connect = (tls - name) * 1000
      if tls > connect { timings.ssl = (tls - connect) * 1000 }
    }
    timings.wait = (firstByte - tls) * 1000
    timings.receive = max(0, ran - firstByte) * 1000
    return timings
  }

  func write(to writer: inout JSONWriter) {
    let timings = timings
    writer.object { writer in
      writer.name("startedDateTime")
      writer.value(LogTime.text((record.time ?? 0) - timings.total / 1000))
      writer.name("time")
      writer.value(hundredths: timings.total)
      writer.name("request")
      writer.object { writer in
        writer.name("method")
        writer.value(record.method)
        writer.name("url")
        writer.value(record.url)
        writer.name("httpVersion")
        writer.value(record.version ?? "")
        nothingKnown(of: &writer)
        writer.name("queryString")
        writer.array(QueryPairs.of(record.url)) { writer, pair in
          writer.object { writer in
            writer.name("name")
            writer.value(pair.name)
            writer.name("value")
            writer.value(pair.value)
          }
        }
        writer.name("bodySize")
        writer.value(-1)
      }
      writer.name("response")
      writer.object { writeResponse(to: &$0) }
      writer.name("cache")
      writer.object { _ in }
      writer.name("timings")
      writer.object { write(timings, to: &$0) }
      if record.attempts > 1 || record.error != nil {
        writer.name("comment")
        let error = record.error.map { "\($0): \(record.message ?? "")" }
        let attempts =
          record.attempts > 1 ? "sent \(record.attempts) times; blocked includes all attempts but the last" : nil
        writer.value([error, attempts].compactMap { $0 }.joined(separator: "; "))
      }
    }
  }

  private func writeResponse(to writer: inout JSONWriter) {
    writer.name("status")
    writer.value(record.status ?? 0)
    writer.name("statusText")
    writer.value("")
    writer.name("httpVersion")
    writer.value(record.version ?? "")
    nothingKnown(of: &writer)
    writer.name("content")
    writer.object { writer in
      writer.name("size")
      writer.value(record.bytes ?? 0)
      writer.name("mimeType")
      writer.value("")
    }
    writer.name("redirectURL")
    writer.value("")
    writer.name("bodySize")
    writer.value(record.bytes ?? -1)
  }

  /// The log contains no header fields.
  private func nothingKnown(of writer: inout JSONWriter) {
    writer.name("cookies")
    writer.array { _ in }
    writer.name("headers")
    writer.array { _ in }
    writer.name("headersSize")
    writer.value(-1)
  }

  private func write(_ timings: Timings, to writer: inout JSONWriter) {
    writer.name("blocked")
    writer.value(hundredths: timings.blocked)
    writer.name("dns")
    writer.value(hundredths: timings.dns)
    writer.name("connect")
    writer.value(hundredths: timings.connect)
    writer.name("ssl")
    writer.value(hundredths: timings.ssl)
    writer.name("send")
    writer.value(0)
    writer.name("wait")
    writer.value(hundredths: timings.wait)
    writer.name("receive")
    writer.value(hundredths: timings.receive)
  }
}
