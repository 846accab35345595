import HeadgateOrigin

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The output of the origin's process: one line of JSON after its start, and one for each command.
struct OriginReply: Codable, Equatable {
  var ports: [UInt16]
  var counts: [OriginCounts] = []

  func line() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) + [UInt8(ascii: "\n")] }

  init(ports: [UInt16], counts: [OriginCounts] = []) {
    self.ports = ports
    self.counts = counts
  }

  init(line: [UInt8]) throws { self = try JSONDecoder().decode(OriginReply.self, from: Data(line)) }
}
