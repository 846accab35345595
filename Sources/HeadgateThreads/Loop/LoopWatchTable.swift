/// The watches by descriptor: at most one reader and one writer, under one registration with the poller.
///
/// A value under the loop's lock. The registrations are changed under that lock too, so that two threads cannot leave
/// an outdated registration behind.
struct LoopWatchTable: Sendable {
  private struct Place {
    var reader: LoopWatch?
    var writer: LoopWatch?
    var registered: PollInterest = []

    var wanted: PollInterest {
      var wanted: PollInterest = []
      if reader?.isWanted == true { wanted.insert(.read) }
      if writer?.isWanted == true { wanted.insert(.write) }
      return wanted
    }
  }

  private var places: [Int32: Place] = [:]

  var isEmpty: Bool { places.isEmpty }
  var count: Int { places.count }
  var all: [LoopWatch] { places.values.flatMap { [$0.reader, $0.writer].compactMap(\.self) } }

  /// Adds a watch. Returns an error if this direction is already watched or the system refuses.
  mutating func add(_ watch: LoopWatch, to poller: Poller, after wait: UInt64) -> (code: LoopError.Code, errno: Int32)?
  {
    var place = places[watch.descriptor] ?? Place()
    switch watch.direction {
    case .reading where place.reader == nil: place.reader = watch
    case .writing where place.writer == nil: place.writer = watch
    default: return (.alreadyWatched, 0)
    }
    let failure = register(&place, watch.descriptor, poller)
    guard failure == 0 else { return (.notWatchable, failure) }
    watch.addedAfter = wait
    places[watch.descriptor] = place
    return nil
  }

  /// Removes a watch. Has no effect if it is not in the table.
  mutating func remove(_ watch: LoopWatch, from poller: Poller) {
    guard var place = places[watch.descriptor] else { return }
    if place.reader === watch { place.reader = nil }
    if place.writer === watch { place.writer = nil }
    _ = register(&place, watch.descriptor, poller)
    places[watch.descriptor] = place.reader == nil && place.writer == nil ? nil : place
  }

  /// Updates the registration after a watch was suspended or resumed, or became busy.
  mutating func update(_ watch: LoopWatch, in poller: Poller) {
    guard var place = places[watch.descriptor], place.reader === watch || place.writer === watch else { return }
    _ = register(&place, watch.descriptor, poller)
    places[watch.descriptor] = place
  }

  mutating func removeAll(from poller: Poller) {
    for (descriptor, place) in places where !place.registered.isEmpty { poller.remove(descriptor) }
    places = [:]
  }

  /// The watches that an event concerns. Watches added after the poll began are excluded: the event may concern an
  /// earlier file with the same number, and a real event for the new one will be reported again.
  func watchers(of event: PollEvent, before wait: UInt64) -> (reader: LoopWatch?, writer: LoopWatch?) {
    guard let place = places[event.descriptor] else { return (nil, nil) }
    func chosen(_ watch: LoopWatch?, _ isReady: Bool) -> LoopWatch? {
      guard let watch, isReady || event.closed, watch.isWanted, watch.addedAfter < wait else { return nil }
      return watch
    }
    return (chosen(place.reader, event.readable), chosen(place.writer, event.writable))
  }

  private func register(_ place: inout Place, _ descriptor: Int32, _ poller: Poller) -> Int32 {
    let wanted = place.wanted
    defer { place.registered = wanted }
    if wanted == place.registered { return 0 }
    // An empty interest means no registration: otherwise a hang-up would be reported again and again.
    if wanted.isEmpty { return poller.remove(descriptor) }
    return place.registered.isEmpty ? poller.add(descriptor, wanted) : poller.modify(descriptor, wanted)
  }
}
