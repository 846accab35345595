/// The newest entries of a table, at least 1,024 of them. Older ones are forgotten. O(1).
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var newer: [Key: Value] = [:]
  private var older: [Key: Value] = [:]

  mutating func insert(_ value: Value, for key: Key) {
    if newer.count >= 1024 { (older, newer) = (newer, [:]) }
    newer[key] = value
  }

  mutating func remove(_ key: Key) -> Value? { newer.removeValue(forKey: key) ?? older.removeValue(forKey: key) }
}
