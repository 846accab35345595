// Waiting for many descriptors at once: epoll(7), level-triggered, with an eventfd(2) to wake the thread.

#if canImport(Glibc) || canImport(Musl)
import CHeadgate
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// One thread's view of the descriptors that it serves. All calls belong to that thread, but for `wake`.
package final class Poller: Sendable {
  private let epoll: Int32
  private let event: Int32
  // Set by the first of several wakers, so that the others save their system call.
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

  package func add(_ descriptor: Int32, _ interest: PollInterest) { control(EPOLL_CTL_ADD, descriptor, interest) }
  package func modify(_ descriptor: Int32, _ interest: PollInterest) { control(EPOLL_CTL_MOD, descriptor, interest) }
  package func remove(_ descriptor: Int32) { control(EPOLL_CTL_DEL, descriptor, []) }

  private func control(_ operation: Int32, _ descriptor: Int32, _ interest: PollInterest) {
    var event = epoll_event()
    if interest.contains(.read) { event.events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if interest.contains(.write) { event.events |= EPOLLOUT.rawValue }
    event.data.fd = descriptor
    epoll_ctl(epoll, operation, descriptor, &event)
  }

  /// Sleeps until a descriptor is ready, `wake` is called or the deadline has passed (in steps of a millisecond,
  /// rounded up), and puts what it heard into `events`.
  package func wait(until deadline: Deadline, into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress else { return }
      let count = epoll_wait(epoll, base, 128, Self.milliseconds(until: deadline))
      guard count > 0 else { return }
      for index in 0..<Int(count) {
        let heard = base[index].events
        if base[index].data.fd == event {
          var value: UInt64 = 0
          _ = read(event, &value, 8)
          // Cleared before the caller looks at what it was woken for: a later waker writes again.
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

  /// Ends the present or next `wait`. From any thread.
  package func wake() {
    if woken.exchange(true, ordering: .sequentiallyConsistent) { return }
    var one: UInt64 = 1
    _ = write(event, &one, 8)
  }

  private static func milliseconds(until deadline: Deadline) -> Int32 {
    if deadline == .distantFuture { return -1 }
    let nanoseconds = (deadline - .now).wholeNanoseconds
    return nanoseconds <= 0 ? 0 : Int32(min((nanoseconds - 1) / 1_000_000 + 1, 3_600_000))
  }
}
#endif
