// Waiting for many descriptors at once: kqueue(2), level-triggered, with a user event to wake the thread.

#if canImport(Darwin)
import Darwin

/// One thread's view of the descriptors that it serves. All calls belong to that thread, but for `wake`.
package final class Poller: Sendable {
  private let queue: Int32

  package init() throws(PollerError) {
    queue = kqueue()
    guard queue >= 0 else { throw PollerError(errno: errno) }
    change(0, EVFILT_USER, EV_ADD | EV_CLEAR)
  }

  deinit { close(queue) }

  package func add(_ descriptor: Int32, _ interest: PollInterest) { modify(descriptor, interest) }

  package func modify(_ descriptor: Int32, _ interest: PollInterest) {
    change(descriptor, EVFILT_READ, interest.contains(.read) ? EV_ADD : EV_DELETE)
    change(descriptor, EVFILT_WRITE, interest.contains(.write) ? EV_ADD : EV_DELETE)
  }

  package func remove(_ descriptor: Int32) { modify(descriptor, []) }

  private func change(_ identifier: Int32, _ filter: Int32, _ flags: Int32, _ note: UInt32 = 0) {
    var event = Darwin.kevent(
      ident: UInt(identifier), filter: Int16(filter), flags: UInt16(flags), fflags: note, data: 0, udata: nil)
    kevent(queue, &event, 1, nil, 0, nil)
  }

  /// Sleeps until a descriptor is ready, `wake` is called or the deadline has passed, and puts what it heard into
  /// `events`. Reading and writing readiness of one descriptor come as two events.
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

  /// Ends the present or next `wait`. From any thread.
  package func wake() { change(0, EVFILT_USER, 0, UInt32(NOTE_TRIGGER)) }
}
#endif
