import HeadgateGate

/// The data of a page in the form that its script reads: columns instead of records, so that 100,000 requests take only
/// a few megabytes. `Script/page.js` has the other half of this contract.
enum PageData {
  static func write(_ run: RunSummary, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.name("length")
      writer.value(ticks(run.length))
      writer.name("began")
      writer.value(run.began.map { Int(($0 * 1000).rounded()) })
      writer.name("waited")
      writer.array(run.waited) { writer, wait in
        writer.array { writer in
          writer.value(PageText.of(wait.cause))
          writer.value(ticks(wait.seconds))
        }
      }
      writer.name("leftOut")
      writer.value(run.leftOut)
      writer.name("strangeLines")
      writer.value(run.strangeLines)
      writer.name("endPoints")
      writer.array(run.endPoints) { write($1, to: &$0) }
      writer.name("rows")
      writer.object { write(run.rows, to: &$0) }
    }
  }

  /// In tenths of a millisecond.
  private static func ticks(_ seconds: Double) -> Int { Int((min(max(0, seconds), 1e10) * 10_000).rounded()) }

  private static func write(_ course: EndPointCourse, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.name("name")
      writer.value(PageText.of(course.name))
      writer.name("numbers")
      writer.array(
        [
          course.count, course.failed, course.bytes, course.exchanges, course.peak, course.longestQueue,
          course.limit ?? 0, ticks(course.pausedSeconds),
        ]
      ) { $0.value($1) }
      writer.name("latency")
      let latency = course.latency
      writer.array([latency.median, latency.p90, latency.p99, latency.longest]) { $0.value(ticks($1)) }
      writer.name("classes")
      writer.array(latency.counts) { $0.value($1) }
      writer.name("pauses")
      writer.array(course.pauses) { writer, pause in
        writer.array { writer in
          writer.value(ticks(pause.at))
          writer.value(ticks(pause.until))
          writer.value(PageText.of(pause.reason))
        }
      }
      guard course.running.count == EndPointCourse.steps else { return }
      writer.name("running")
      writer.array(course.running) { $0.value($1) }
      writer.name("mean")
      writer.array(course.mean) { $0.value(hundredths: $1) }
      writer.name("waiting")
      writer.array(course.waiting) { $0.value($1) }
      writer.name("limits")
      writer.array(course.limits) { $0.value($1) }
    }
  }

  private static func write(_ rows: [RunRow], to writer: inout JSONWriter) {
    writer.name("url")
    writer.array(rows) { $0.value(PageText.of($1.url)) }
    writer.name("endPoint")
    writer.array(rows) { $0.value($1.endPoint) }
    writer.name("outcome")
    writer.array(rows) { $0.value($1.outcome.rawValue) }
    writer.name("status")
    writer.array(rows) { $0.value($1.status) }
    writer.name("attempts")
    writer.array(rows) { $0.value($1.attempts) }
    writer.name("bytes")
    writer.array(rows) { $0.value($1.bytes) }
    // Each value is the difference from the previous one, which keeps numbers small.
    writer.name("start")
    writer.array(rows) { $0.value(ticks($1.start)) }
    writer.name("sent")
    writer.array(rows) { $0.value(ticks($1.sent) - ticks($1.start)) }
    writer.name("answered")
    writer.array(rows) { $0.value(ticks($1.answered) - ticks($1.sent)) }
    writer.name("end")
    writer.array(rows) { $0.value(ticks($1.end) - ticks($1.answered)) }
    writer.name("errors")
    writer.array(rows.enumerated().filter { $1.error != nil }) { writer, row in
      writer.array { writer in
        writer.value(row.offset)
        writer.value(PageText.of(row.element.error ?? ""))
        writer.value(PageText.of(row.element.message ?? ""))
      }
    }
  }
}

/// Text from outside as the page shows it: with the escapes that the command uses on a terminal.
///
/// A direction mark could make one URL look like another, and a browser draws control characters as nothing.
enum PageText {
  /// The maximum number of scalars of a text that the page shows. The log has all of them.
  static let most = 2_000

  /// The text with a visible escape, such as `\u{202E}`, for each character that is invisible or turns the direction.
  static func of(_ text: String) -> String {
    ShownText.of(text.utf8.count <= most ? text : String(text.unicodeScalars.prefix(most)), atMost: .max)
  }
}
