import Foundation

private let chosen = {
  let name = ProcessInfo.processInfo.environment["HEADGATE_FUZZ"] ?? ""
  guard let input = name == "replies" ? fuzzReplies : inputs[name] else {
    fatalError("HEADGATE_FUZZ must be replies, or one of: \(inputs.keys.sorted().joined(separator: ", "))")
  }
  return input
}()

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}
