/// Named values of the calling thread, like Foundation's `threadDictionary`, for values that don't need a
/// ``ThreadLocal``. See ``ManagedThread/dictionary``.
///
///     ManagedThread.dictionary["exitNow"] = true
///     while ManagedThread.dictionary["exitNow", as: Bool.self] != true { … }
///
/// Each thread sees only its own values. They are destroyed when the thread exits, together and in no particular order,
/// as if they were one ``ThreadLocal`` created at the first use. Access costs a lookup in a Swift dictionary. A
/// ``ThreadLocal`` is faster and typed.
public struct ThreadDictionary {
  private static let values = ThreadLocal<[String: any Sendable]> { [:] }

  init() {}

  /// The calling thread's value for a name. Setting nil removes it.
  @available(*, noasync)
  public subscript(name: String) -> (any Sendable)? {
    get { Self.values.hasValue ? Self.values.withValue { $0[name] } : nil }
    nonmutating set {
      // The old value is removed before it is released: its deinitializer may access the dictionary.
      let old = Self.values.withValue { values in
        guard let newValue else { return values.removeValue(forKey: name) }
        return values.updateValue(newValue, forKey: name)
      }
      _ = consume old
    }
  }

  /// The calling thread's value for a name, if it has this type. Setting nil removes it.
  @available(*, noasync)
  public subscript<Value: Sendable>(name: String, as type: Value.Type) -> Value? {
    get { self[name] as? Value }
    nonmutating set { self[name] = newValue }
  }

  /// The names that have a value on the calling thread, in no particular order.
  @available(*, noasync)
  public var names: [String] { Self.values.hasValue ? Self.values.withValue { Array($0.keys) } : [] }

  /// Removes all values of the calling thread.
  @available(*, noasync)
  public func removeAll() { Self.values.removeValue() }
}
