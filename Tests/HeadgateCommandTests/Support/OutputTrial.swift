import Foundation
import HeadgateOrigin

/// A folder of a test's own with an output folder in it, and an origin for its bodies.
struct OutputTrial {
  let folder: TemporaryFolder
  let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    try FileManager.default.createDirectory(atPath: folder.file("out/bytes"), withIntermediateDirectories: true)
  }
}

/// The body of `/bytes/<count>` of an origin.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map(OriginAnswer.patternByte) }
