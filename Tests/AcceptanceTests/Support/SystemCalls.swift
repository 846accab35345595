import Foundation

/// The system calls of a process and its threads, as recorded by strace.
struct SystemCalls {
  struct Call {
    let name: String
    /// In strace's form: `7</path/of/file>, "text", 4`.
    let arguments: String
    let isOK: Bool
    /// The positions of its start and its end in strace's output.
    let start: Int
    let end: Int
  }

  let calls: [Call]

  init(_ text: String) {
    var calls: [Call] = []
    // Calls that have begun, by their threads.
    var open: [Substring: (text: String, start: Int)] = [:]
    for (place, line) in text.split(separator: "\n").enumerated() {
      guard let space = line.firstIndex(of: " ") else { continue }
      let thread = line[..<space]
      var (text, start) = (String(line[space...].drop { $0 == " " }), place)
      if text.hasSuffix(" <unfinished ...>") {
        open[thread] = (String(text.dropLast(17)), place)
        continue
      }
      if text.hasPrefix("<... "), let resumed = text.range(of: " resumed>"),
        let begun = open.removeValue(forKey: thread)
      {
        (text, start) = (begun.text + text[resumed.upperBound...], begun.start)
      }
      guard let result = text.range(of: ")", options: .backwards), let bracket = text.firstIndex(of: "("),
        bracket < result.lowerBound
      else { continue }
      let arguments = String(text[text.index(after: bracket)..<result.lowerBound])
      let isOK = text[result.upperBound...].drop { $0 == " " || $0 == "=" }.first?.isNumber == true
      calls.append(
        Call(name: String(text[..<bracket]), arguments: arguments, isOK: isOK, start: start, end: place))
    }
    self.calls = calls
  }

  /// The first successful call of a kind that began after a position.
  func first(after place: Int = -1, _ names: String..., where matches: (Call) -> Bool) -> Call? {
    calls.filter { $0.start > place && $0.isOK && names.contains($0.name) && matches($0) }.min { $0.start < $1.start }
  }

  /// The last one.
  func last(_ names: String..., where matches: (Call) -> Bool) -> Call? {
    calls.filter { $0.isOK && names.contains($0.name) && matches($0) }.max { $0.end < $1.end }
  }
}

extension SystemCalls.Call {
  /// Whether its first argument is an open file or folder whose path has this end.
  func isOf(_ path: String) -> Bool {
    guard let start = arguments.firstIndex(of: "<"), let end = arguments.firstIndex(of: ">"), start < end else {
      return false
    }
    return arguments[start..<end].hasSuffix("/" + path)
  }
}
