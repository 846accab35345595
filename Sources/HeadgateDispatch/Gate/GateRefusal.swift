extension Scheduler.Refusal {
  /// The error that the caller of a refused submission gets.
  var code: DispatchError.Code {
    switch self {
    case .queueFull: .refused
    case .longLaneFull: .longLaneFull
    case .shutDown: .shutDown
    }
  }
}
