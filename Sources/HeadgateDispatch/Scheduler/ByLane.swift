/// A value for each lane.
struct ByLane<Value: Sendable>: Sendable {
  var short: Value
  var long: Value

  init(_ value: Value) { (short, long) = (value, value) }

  // Both forced: an accessor that is called allocates its frame, which took twelve allocations for a request that waits.
  subscript(lane: RequestLane) -> Value {
    @inline(__always) _read {
      switch lane {
      case .short: yield short
      case .long: yield long
      }
    }
    @inline(__always) _modify {
      switch lane {
      case .short: yield &short
      case .long: yield &long
      }
    }
  }
}
