import HeadgateLibC
import HeadgateThreads

/// A scripted HTTP/1.1 server on the loopback interface that counts open connections and requests.
///
/// It verifies from the server's side that a client keeps to its limits. A closed connection is counted as closed
/// before connections that arrive later are counted, so a client that closes one socket and then opens another never
/// counts with two. A connection whose client has shut down its sending side counts as closed.
///
/// The path of a request determines the response. Every path accepts `?delay=MS`:
///
/// | path | response |
/// |---|---|
/// | `/` | 200 with ``OriginScript/body`` |
/// | `/bytes/N` | 200 with N bytes of ``OriginAnswer/patternByte(at:)`` |
/// | `/status/CODE` | that status (200 to 999); `?retry-after=VALUE` adds the header |
/// | `/delay/MS` | 200 after a delay in milliseconds |
/// | `/redirect?to=URL` | 302 (`&code=`) to the percent-decoded URL, with a small body (`&size=`) |
/// | `/stream?chunks=N&every=MS&size=BYTES` | N chunks (0: endless) |
/// | `/hold` | held until ``release()``, then 200 |
/// | `/silence` | no response |
/// | `/reset` | the connection is reset; `?after=N` after N bytes of a longer body |
/// | `/trickle?bytes=N&every=MS` | 200, one byte at a time |
/// | `/short?declared=N&sent=M` | 200 with a truncated body |
/// | `/close` | 200 with `Connection: close` |
/// | `/echo` | 200 with the request's body, its method as `X-Method` and its fields as `X-Echo-NAME` |
/// | `/headers?bytes=N` | 200 with N more bytes of header lines |
/// | `/gzip?bytes=N` | 200 with N zero bytes, compressed by gzip |
/// | `/garbage` | bytes that are not HTTP |
/// | `/torn` | an incomplete head |
/// | `/spaced` | a status line with two spaces |
/// | `/early?after=N` | 413 (`&status=`) after N bytes of the request's body, then the connection closes, at once with `&abrupt=1`; with `&to=URL` a redirect |
/// | `/sink` | 200 with the number of bytes in the request's body; `?pause=N` stops reading after about N bytes until ``release()`` |
///
/// Other paths get 404, invalid parameters 400. All responses except `/early` wait for the whole request.
///
/// One thread serves all end-points. It ends with ``stop()``, or when the origin is released.
public final class Origin: Sendable {
  /// The ports, one for each end-point.
  public let ports: [UInt16]

  private let shared: OriginShared
  private let thread: WorkerThread

  /// Starts an origin with a number of end-points, each on a free port of 127.0.0.1.
  ///
  /// - Throws: ``OriginError`` if `endPoints` is less than one, or if the system has no ports, descriptors or threads
  ///   left.
  public convenience init(endPoints: Int = 1, script: OriginScript = OriginScript()) throws(OriginError) {
    try self.init(ports: Array(repeating: 0, count: max(0, endPoints)), script: script)
  }

  /// Starts an origin on these ports of 127.0.0.1. 0 means any free port.
  ///
  /// - Throws: ``OriginError`` if the list is empty, if a port is not available, or if the system has no descriptors
  ///   or threads left.
  public init(ports wanted: [UInt16], script: OriginScript = OriginScript()) throws(OriginError) {
    guard !wanted.isEmpty else { throw OriginError(.noEndPoints) }
    var listeners: [Int32] = []
    var ports: [UInt16] = []
    do throws(OriginError) {
      for port in wanted {
        let (listener, port) = try Socket.listen(port: port)
        listeners.append(listener)
        ports.append(port)
      }
      (shared, thread) = try Self.start(listeners, script)
    } catch {
      listeners.forEach(StreamSocket.close)
      throw error
    }
    self.ports = ports
  }

  private static func start(
    _ listeners: [Int32],
    _ script: OriginScript
  ) throws(OriginError) -> (OriginShared, WorkerThread) {
    let poller: Poller
    do throws(PollerError) { poller = try Poller() } catch { throw OriginError(.resources, errno: error.errno) }
    let shared = OriginShared(poller: poller, endPoints: listeners.count, script: script)
    do throws(ThreadError) {
      // The thread retains the shared state rather than the origin, so that the origin can be released while it runs.
      let thread = try WorkerThread(name: "headgate-origin") { OriginLoop(shared, listeners).run() }
      return (shared, thread)
    } catch {
      throw OriginError(.resources, errno: error.errno)
    }
  }

  deinit { stop() }

  /// The port of the first end-point.
  public var port: UInt16 { ports[0] }

  /// The URL of a path, which may have a query, at an end-point. An invalid index yields port 0, which no client can
  /// reach.
  public func url(_ path: String = "/", endPoint index: Int = 0) -> String {
    "http://127.0.0.1:\(ports.indices.contains(index) ? ports[index] : 0)\(path.hasPrefix("/") ? "" : "/")\(path)"
  }

  /// The counts of an end-point; all zero for an invalid index. Thread-safe.
  ///
  /// A response can reach its client a moment before it is counted as served. ``waitUntil(_:endPoint:until:)`` waits for
  /// that.
  public func counts(endPoint index: Int = 0) -> OriginCounts { shared.counts(index) }

  /// Resets the counts of all end-points: totals to zero, peaks to the present values. Thread-safe.
  public func resetCounts() {
    shared.resetCounts()
    shared.post(.recount)
  }

  /// Replaces the script. Applies to later requests and connections. Thread-safe.
  public func setScript(_ script: OriginScript) { shared.script = script }

  /// Answers all requests held by `/hold`, and resumes reading for `/sink`. Does not affect later requests.
  /// Thread-safe.
  public func release() { shared.post(.release(epoch: shared.nextRelease())) }

  /// Waits until the counts of an end-point fulfil a condition.
  ///
  /// - Parameters:
  ///   - condition: Called at once and after every change of the counts, so that a momentary state is not missed. Runs
  ///     on the thread that serves all connections; it must return soon and must not wait for the origin. It sees every
  ///     response that was read before this call as served.
  ///   - index: The end-point. The counts for an invalid index are always zero.
  ///   - deadline: When to give up.
  /// - Returns: Whether the condition was fulfilled; false if the deadline passed, the task was cancelled, or the
  ///   origin stopped.
  public func waitUntil(
    _ condition: @escaping @Sendable (OriginCounts) -> Bool,
    endPoint index: Int = 0,
    until deadline: Deadline
  ) async -> Bool {
    // Not checked here first: a client can have read a response that the thread has yet to count. The thread takes up
    // the wait after that turn.
    let shared = shared
    let number = shared.nextWaiter()
    return await withTaskCancellationHandler {
      await withContinuation { continuation in
        let waiter = OriginShared.Waiter(
          number: number,
          endPoint: index,
          deadline: deadline,
          condition: condition,
          continuation: continuation
        )
        guard shared.post(.wait(waiter)) else {
          return continuation.resume(returning: condition(shared.counts(index)))
        }
        // The thread ignored a cancellation before this, because it did not know the wait yet.
        if Task.isCancelled { shared.post(.cancelWait(number)) }
      }
    } onCancel: {
      shared.post(.cancelWait(number))
    }
  }

  /// Closes all connections and ports and ends the thread. Later calls do nothing.
  ///
  /// Returns when everything is closed, which takes no longer than the current iteration of the thread's loop. On that
  /// thread itself (in a hook or a condition) it returns at once, and everything is closed right after.
  public func stop() {
    shared.post(.stop)
    if !shared.isOnThread { thread.join() }
  }
}
