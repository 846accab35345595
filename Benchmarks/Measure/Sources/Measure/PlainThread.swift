#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A thread of the system's, for a client that must not lean on anybody's thread library.
public struct PlainThread: ~Copyable {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  #if canImport(Glibc)
  private var thread = pthread_t()
  #else
  private var thread: pthread_t?
  #endif

  /// Starts it; ends the process where the system has no thread left.
  public init(_ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(run))
    let failed = pthread_create(
      &thread, nil,
      { argument in
        #if canImport(Glibc)
        guard let argument else { return nil }
        #endif
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    if failed != 0 { complain("pthread_create: \(failed)") }
  }

  /// Waits until it has ended.
  public consuming func join() {
    #if canImport(Glibc)
    pthread_join(thread, nil)
    #else
    if let thread { pthread_join(thread, nil) }
    #endif
  }
}
