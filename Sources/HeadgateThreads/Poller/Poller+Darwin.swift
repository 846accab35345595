// Waits for many descriptors at once: kqueue(2), level-triggered, with a user event to wake the thread.

#if canImport(Darwin)
import Darwin

/// The set of descriptors that one thread serves. `wait` belongs to that thread; the other calls may come from any
/// thread.
package final class Poller: Sendable {
  private let queue: Int32

  package init() throws(PollerError) {
    queue = kqueue()
    guard queue >= 0 else { throw PollerError(errno: errno) }
    change(0, EVFILT_USER, EV_ADD | EV_CLEAR)
  }

  deinit { close(queue) }

  // Each returns 0 or the system's error number: EBADF, or EINVAL for a descriptor that cannot be polled.
  @discardableResult
  package func add(_ descriptor: Int32, _ interest: PollInterest) -> Int32 { modify(descriptor, interest) }

  @discardableResult
  package func modify(_ descriptor: Int32, _ interest: PollInterest) -> Int32 {
    let reading = set(descriptor, EVFILT_READ, interest.contains(.read))
    let writing = set(descriptor, EVFILT_WRITE, interest.contains(.write))
    return reading != 0 ? reading : writing
  }

  @discardableResult
  package func remove(_ descriptor: Int32) -> Int32 { modify(descriptor, []) }

  private func set(_ descriptor: Int32, _ filter: Int32, _ isWanted: Bool) -> Int32 {
    let failure = change(descriptor, filter, isWanted ? EV_ADD : EV_DELETE)
    // Deleting a filter that was never added is not a failure.
    return isWanted || failure != ENOENT ? failure : 0
  }

  @discardableResult
  private func change(_ identifier: Int32, _ filter: Int32, _ flags: Int32, _ note: UInt32 = 0) -> Int32 {
    var event = Darwin.kevent(
      ident: UInt(identifier), filter: Int16(filter), flags: UInt16(flags), fflags: note, data: 0, udata: nil)
    return kevent(queue, &event, 1, nil, 0, nil) == 0 ? 0 : errno
  }

  /// Sleeps until a descriptor is ready, `wake` is called or the deadline passes, and stores the events in `events`.
  /// Read and write readiness of one descriptor are two events.
  package func wait(until deadline: Deadline, into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    withUnsafeTemporaryAllocation(of: Darwin.kevent.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress else { return }
      let count: Int32
      if deadline == .distantFuture {
        count = kevent(queue, nil, 0, base, 128, nil)
      } else {
        let nanoseconds = max(0, (deadline - .now).wholeNanoseconds)
        var limit = timespec(
          tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        count = kevent(queue, nil, 0, base, 128, &limit)
      }
      guard count > 0 else { return }
      for index in 0..<Int(count) where base[index].filter != Int16(EVFILT_USER) {
        events.append(
          PollEvent(
            descriptor: Int32(base[index].ident),
            readable: base[index].filter == Int16(EVFILT_READ),
            writable: base[index].filter == Int16(EVFILT_WRITE),
            closed: base[index].flags & UInt16(EV_EOF | EV_ERROR) != 0
          ))
      }
    }
  }

  /// Ends the current or next `wait`. Can be called from any thread.
  package func wake() { change(0, EVFILT_USER, 0, UInt32(NOTE_TRIGGER)) }
}
#endif
