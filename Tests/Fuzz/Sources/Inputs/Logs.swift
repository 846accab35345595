@testable import HeadgateCommand
@testable import HeadgateDispatch
@testable import HeadgateGate
@testable import HeadgateReport

/// Logs for `headgate report`: the result does not depend on their pieces, and pages and archives are always JSON that
/// can't end its element.
func fuzzLogs(_ bytes: UnsafeRawBufferPointer, _ texts: [String]) {
  let log = readLog([Array(bytes)])
  let cut = readLog(pieces(of: bytes))
  precondition(log.records == cut.records && log.strangeLines == cut.strangeLines)
  check(log)
  for text in texts.prefix(4) {
    var line = JSONLine()
    line.add("url", text)
    let record = LogRecord(Array(line.line.utf8)[...])
    precondition(record?.url.utf8.elementsEqual(text.utf8) ?? false)
    let (name, value) = (URLText.escaped(text), URLText.escaped(String(text.reversed())))
    let pairs = QueryPairs.of("http://a/?\(name)=\(value)&=%+1#?x=y")
    precondition(pairs.first?.name == text && pairs.first?.value == String(text.reversed()))
    precondition(pairs.last?.value == "% 1")
  }
  let milliseconds = bytes.prefix(6).reduce(0) { $0 << 8 | Int($1) } % 250_000_000_000_000
  let time = LogTime.seconds(LogTime.text(Double(milliseconds) / 1000))
  precondition(time.map { abs($0 - Double(milliseconds) / 1000) < 0.002 } ?? false)
}

private func readLog(_ pieces: [[UInt8]]) -> RunLog {
  var log = RunLog()
  for piece in pieces { log.add(piece) }
  log.finish()
  return log
}

private func check(_ log: RunLog) {
  guard !log.records.isEmpty else { return }
  let run = RunSummary(log)
  for course in run.endPoints where run.length > 1e-6 {
    precondition(zip(course.running, course.mean).allSatisfy { $1 <= Double($0) + 0.01 })
  }
  var writer = JSONWriter()
  PageData.write(run, to: &writer)
  for text in [writer.bytes, HARFile.bytes(log, creatorVersion: "1")] {
    precondition(!text.contains(UInt8(ascii: "<")) && (try? JSONReader.read(text)) != nil)
  }
}
