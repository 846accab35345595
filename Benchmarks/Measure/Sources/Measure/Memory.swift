#if canImport(Glibc)
import Glibc
#endif

/// The resident memory of the process in bytes; 0 if the system does not report it.
public func residentBytes() -> Int {
  #if canImport(Glibc)
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 128)
  guard fgets(&line, 128, file) != nil else { return 0 }
  let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
    separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
  #else
  return 0
  #endif
}
