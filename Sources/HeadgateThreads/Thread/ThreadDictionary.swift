/// Named values of the calling thread: the classic `threadDictionary`, for what has no type of its own. See
/// ``ManagedThread/dictionary``.
///
///     ManagedThread.dictionary["exitNow"] = true
///     while ManagedThread.dictionary["exitNow", as: Bool.self] != true { … }
///
/// Each thread sees its own values only. They are destroyed when the thread exits, in no order among themselves, as one
/// ``ThreadLocal`` that was made at the first use. A look costs that of a Swift dictionary; a ``ThreadLocal`` is quicker
/// and knows its type.
public struct ThreadDictionary {
  private static let values = ThreadLocal<[String: any Sendable]> { [:] }

  init() {}

  /// The calling thread's value under a name; nil takes it away.
  @available(*, noasync)
  public subscript(name: String) -> (any Sendable)? {
    get { Self.values.hasValue ? Self.values.withValue { $0[name] } : nil }
    nonmutating set {
      // The old value leaves the dictionary before it is let go: its destructor may look into it.
      let old = Self.values.withValue { values in
        guard let newValue else { return values.removeValue(forKey: name) }
        return values.updateValue(newValue, forKey: name)
      }
      _ = consume old
    }
  }

  /// The calling thread's value under a name, if it is of this type; nil takes it away.
  @available(*, noasync)
  public subscript<Value: Sendable>(name: String, as type: Value.Type) -> Value? {
    get { self[name] as? Value }
    nonmutating set { self[name] = newValue }
  }

  /// The names that have a value here, in no order.
  @available(*, noasync)
  public var names: [String] { Self.values.hasValue ? Self.values.withValue { Array($0.keys) } : [] }

  /// Takes all values of the calling thread away.
  @available(*, noasync)
  public func removeAll() { Self.values.removeValue() }
}
