/// Two cache lines of nothing, since processors fetch them in pairs: as the last field of what one thread uses, it keeps
/// what other threads write away.
struct CacheLines: Sendable {
  // swift-format-ignore
  private let nothing:
    (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
     UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
