#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The process's limit on open files.
enum OpenFiles {
  /// How many requests at once it suffices for: a socket and a file for each, and some for the rest.
  static var mostRequests: Int {
    var limit = rlimit()
    #if canImport(Glibc)
    let asked = getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    #else
    let asked = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    guard asked == 0 else { return 8 }
    return max(8, (Int(clamping: UInt64(limit.rlim_cur)) - 64) / 2)
  }
}
