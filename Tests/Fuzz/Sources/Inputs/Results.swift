@testable import HeadgateCommand

/// Results of `headgate call`: all are read back from their lines, and damage affects none before it.
func fuzzResults(_ bytes: UnsafeRawBufferPointer, _ texts: [String], at place: Int) {
  var (results, ends, file) = ([ResultLine](), [0], [UInt8]())
  for text in texts {
    let outcomes: [CallOutcome] = [.ok, .failed, .notSent, .unknown]
    let outcome = outcomes[Int(text.utf8.first ?? 0) % 4]
    let result = ResultLine(key: rowKey(text), outcome: outcome, error: outcome == .ok ? nil : "http_error")
    var line = JSONLine()
    result.add(to: &line)
    line.add("message", text)
    precondition(ResultLine(Array(line.line.utf8).dropLast()) == result)
    results.append(result)
    file += line.line.utf8
    ends.append(file.count)
  }
  let start = min(place % 4096, file.count)
  let complete = ends.lastIndex { $0 <= start } ?? 0
  let cut = scanned([Array(file[..<start])])
  precondition(cut.scan.isOurs && cut.scan.end == ends[complete] && cut.results.elementsEqual(results[..<complete]))

  if complete > 0 {
    let end = min(start + 1 + place % 7, file.count)
    let damaged = scanned([file[..<start] + [UInt8](repeating: 0, count: end - start) + file[end...]])
    precondition(damaged.scan.isOurs && damaged.scan.end >= ends[complete])
    precondition(damaged.results.starts(with: results[..<complete]))
  }

  let (whole, pieced) = (scanned([Array(bytes)]), scanned(pieces(of: bytes)))
  precondition(whole.results == pieced.results && whole.scan.end == pieced.scan.end)
  precondition(whole.scan.isOurs == pieced.scan.isOurs)
}

private func scanned(_ pieces: [[UInt8]]) -> (scan: ResultsScan, results: [ResultLine]) {
  var (scan, results) = (ResultsScan(), [ResultLine]())
  for piece in pieces { scan.add(piece) { results.append($0) } }
  return (scan, results)
}
