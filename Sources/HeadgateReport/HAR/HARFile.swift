/// A run as HTTP Archive 1.2, for the network tabs of browsers and what else reads it. `blocked` is the time in our queue.
package enum HARFile {
  /// Browsers read a HAR whole: 100,000 entries would be more than 60 MB of one JSON.
  package static let mostEntries = 10_000

  /// Which records a file of at most ``mostEntries`` has; nil where it has all of them.
  package static func restriction(of log: RunLog) -> String? {
    let all = log.records.count + log.leftOut
    guard all > mostEntries else { return nil }
    return "the first \(mostEntries) of \(all) records, in the order of the log"
  }

  /// The bytes of the file.
  package static func bytes(_ log: RunLog, creatorVersion: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.name("log")
      writer.object { writer in
        writer.name("version")
        writer.value("1.2")
        writer.name("creator")
        writer.object { writer in
          writer.name("name")
          writer.value("headgate")
          writer.name("version")
          writer.value(creatorVersion)
        }
        if let restriction = restriction(of: log) {
          writer.name("comment")
          writer.value("This file has \(restriction).")
        }
        writer.name("entries")
        writer.array(log.records.prefix(mostEntries)) { HAREntry($1).write(to: &$0) }
      }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
