/// A run as an HTTP Archive 1.2, for the network tabs of browsers and other tools. `blocked` is the time in Headgate's
/// queue.
package enum HARFile {
  /// Browsers load a HAR as a whole: 100,000 entries would be more than 60 MB of JSON.
  package static let mostEntries = 10_000

  /// The part of the records that a file of at most ``mostEntries`` contains. Nil if it contains all of them.
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
