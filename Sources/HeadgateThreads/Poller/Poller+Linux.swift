// Waits for many descriptors at once: epoll(7), level-triggered, with an eventfd(2) to wake the thread.

#if canImport(Glibc) || canImport(Musl)
import CHeadgate
import HeadgateLibC
import Synchronization

/// The set of descriptors that one thread serves. `wait` belongs to that thread; the other calls may come from any
/// thread.
package final class Poller: Sendable {
  private let epoll: Int32
  private let event: Int32
  // Set by the first of several wakers, so that the others skip the system call.
  private let woken = Atomic<Bool>(false)

  package init() throws(PollerError) {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw PollerError(errno: errno) }
    event = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard event >= 0 else {
      let reason = errno
      close(epoll)
      throw PollerError(errno: reason)
    }
    add(event, .read)
  }

  deinit {
    close(event)
    close(epoll)
  }

  // Each returns 0 or the system's error number: EBADF, or EPERM for a descriptor that cannot be polled, such as a
  // plain file.
  @discardableResult
  package func add(_ descriptor: Int32, _ interest: PollInterest) -> Int32 {
    control(EPOLL_CTL_ADD, descriptor, interest)
  }

  @discardableResult
  package func modify(_ descriptor: Int32, _ interest: PollInterest) -> Int32 {
    control(EPOLL_CTL_MOD, descriptor, interest)
  }

  @discardableResult
  package func remove(_ descriptor: Int32) -> Int32 { control(EPOLL_CTL_DEL, descriptor, []) }

  private func control(_ operation: Int32, _ descriptor: Int32, _ interest: PollInterest) -> Int32 {
    var event = epoll_event()
    if interest.contains(.read) { event.events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if interest.contains(.write) { event.events |= EPOLLOUT.rawValue }
    event.data.fd = descriptor
    return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : errno
  }

  /// Sleeps until a descriptor is ready, `wake` is called or the deadline passes, and stores the events in `events`.
  /// The resolution is a nanosecond from Linux 5.11 on (epoll_pwait2), and a millisecond, rounded up, before that.
  package func wait(until deadline: Deadline, into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress else { return }
      let count = headgate_epoll_wait(epoll, base, 128, Self.nanoseconds(until: deadline))
      guard count > 0 else { return }
      for index in 0..<Int(count) {
        let heard = base[index].events
        if base[index].data.fd == event {
          var value: UInt64 = 0
          _ = read(event, &value, 8)
          // Cleared before the caller checks for work: a waker that comes later writes again.
          woken.store(false, ordering: .sequentiallyConsistent)
        } else {
          events.append(
            PollEvent(
              descriptor: base[index].data.fd,
              readable: heard & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0,
              writable: heard & EPOLLOUT.rawValue != 0,
              closed: heard & (EPOLLHUP.rawValue | EPOLLERR.rawValue | EPOLLRDHUP.rawValue) != 0
            ))
        }
      }
    }
  }

  /// Ends the current or next `wait`. Can be called from any thread.
  package func wake() {
    if woken.exchange(true, ordering: .sequentiallyConsistent) { return }
    var one: UInt64 = 1
    _ = write(event, &one, 8)
  }

  private static func nanoseconds(until deadline: Deadline) -> Int64 {
    deadline == .distantFuture ? -1 : min(max(0, deadline.nanoseconds(since: .now)), 3_600_000_000_000)
  }
}
#endif
