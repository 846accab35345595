/// A value for each lane.
struct ByLane<Value: Sendable>: Sendable {
  var short: Value
  var long: Value

  init(_ value: Value) { (short, long) = (value, value) }

  subscript(lane: RequestLane) -> Value {
    _read {
      switch lane {
      case .short: yield short
      case .long: yield long
      }
    }
    _modify {
      switch lane {
      case .short: yield &short
      case .long: yield &long
      }
    }
  }
}
