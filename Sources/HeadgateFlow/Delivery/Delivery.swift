import HeadgateThreads

#if canImport(Dispatch)
import Dispatch
#endif

/// Where the answer of a callback function is delivered, so that what follows it runs there.
///
///     startCallback(on: .mainActor, logIn) { result in … }     // the user interface hears of it on its own thread
///
/// Each answer is delivered once. A place that takes nothing any more (a loop that has stopped, a pool that was disposed
/// of or refuses, a closure let go of uncalled) does not swallow it: what follows is told ``FlowErrorCode/undeliverable``
/// instead, on the thread that found out, and a success goes to `discard`.
public struct Delivery: Sendable {
  private enum Kind: Sendable {
    case inline
    case mainActor
    case loop(ThreadLoop)
    case pool(ThreadPool)
    #if canImport(Dispatch)
    case queue(DispatchQueue)
    #endif
    case submitting(@Sendable (@escaping @Sendable () -> Void) throws -> Void)
  }

  private let kind: Kind

  /// On whatever thread answers, with no hop.
  public static var inline: Delivery { Delivery(kind: .inline) }

  /// On the main actor, in its turn. `MainActor.assumeIsolated` holds there.
  public static var mainActor: Delivery { Delivery(kind: .mainActor) }

  /// On a loop's thread, among the closures of its `perform` and in their order.
  public static func loop(_ loop: ThreadLoop) -> Delivery { Delivery(kind: .loop(loop)) }

  /// On a thread of a pool. A pool that is full refuses: this never waits for room.
  public static func pool(_ pool: ThreadPool) -> Delivery { Delivery(kind: .pool(pool)) }

  #if canImport(Dispatch)
  /// On a dispatch queue.
  public static func queue(_ queue: DispatchQueue) -> Delivery { Delivery(kind: .queue(queue)) }
  #endif

  /// Through anything that takes a closure and calls it later. `submit` must not wait; what it throws, or letting go of
  /// the closure without a call, means that it takes nothing any more.
  public static func submitting(
    _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void
  ) -> Delivery {
    Delivery(kind: .submitting(submit))
  }

  /// Has a parcel opened at the place. With no lock held.
  package func submit(_ parcel: Parcel) {
    do {
      switch kind {
      case .inline: parcel.open()
      case .mainActor: Task { @MainActor in parcel.open() }
      case .loop(let loop):
        loop.perform {
          parcel.open()
        } onCancel: {
          parcel.comeBack()
        }
      // Until the past: a full pool that makes its callers wait refuses instead.
      case .pool(let pool): try pool.execute(until: .distantPast) { parcel.open() }
      #if canImport(Dispatch)
      case .queue(let queue): queue.async { parcel.open() }
      #endif
      case .submitting(let submit): try submit { parcel.open() }
      }
    } catch {
      parcel.comeBack(for: error)
    }
  }

  /// Whether a thread with these duties keeps the place from serving anybody while it blocks.
  ///
  /// Of dispatch queues that is known for the main queue only: libdispatch does not say which thread serves which.
  func needs(_ duties: ThreadDuties) -> Bool {
    switch kind {
    case .inline, .submitting: return false
    case .mainActor: return duties.isMain
    case .loop(let loop): return duties.include(loop)
    case .pool(let pool): return duties.include(pool)
    #if canImport(Dispatch)
    // By its label: on Linux each access to the main queue makes another object.
    case .queue(let queue): return duties.isMain && queue.label == DispatchQueue.main.label
    #endif
    }
  }
}
