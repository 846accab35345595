import HeadgateThreads

/// A scripted HTTP/1.1 server on the loopback interface, which counts for itself what is open at once.
///
/// It proves from the server's side that a client keeps to its limits: closes that have arrived are counted before
/// connections that arrive after them, so a client that closes one socket and then opens another is never seen with
/// two. A client that has shut down its sending side counts as gone.
///
/// The path of a request says how it is answered, and `?delay=MS` works on each:
///
/// | path | answer |
/// |---|---|
/// | `/` | 200 with ``OriginScript/body`` |
/// | `/bytes/N` | 200 with N bytes of ``OriginAnswer/patternByte(at:)`` |
/// | `/status/CODE` | that status (200 to 999); `?retry-after=VALUE` adds the header |
/// | `/delay/MS` | 200 after so many milliseconds |
/// | `/redirect?to=URL` | 302 (`&code=`) to the percent-decoded URL, with a small body (`&size=`) |
/// | `/stream?chunks=N&every=MS&size=BYTES` | N chunks (0: endless) |
/// | `/hold` | held until ``release()``, then 200 |
/// | `/silence` | none |
/// | `/reset` | the connection is reset; `?after=N` after N bytes of a longer body |
/// | `/trickle?bytes=N&every=MS` | 200, one byte at a time |
/// | `/short?declared=N&sent=M` | 200 whose body breaks off |
/// | `/close` | 200 with `Connection: close` |
/// | `/echo` | 200 with the request's body, and its head as `X-Method` and `X-Echo-NAME` |
/// | `/headers?bytes=N` | 200 with N more bytes of header lines |
/// | `/gzip?bytes=N` | 200 with N zero bytes, compressed by gzip |
/// | `/garbage` | bytes that are not HTTP |
/// | `/torn` | a head that breaks off |
/// | `/spaced` | a status line with two spaces |
/// | `/early?after=N` | 413 (`&status=`) once N bytes of the request's body are read, then the end of the connection, at once with `&abrupt=1`; with `&to=URL` a redirect |
/// | `/sink` | 200 with the number of bytes in the request's body; `?pause=N` reads no more than N or a little more before ``release()`` |
///
/// Any other path is answered with 404, a bad parameter with 400. All answers but `/early` wait for the whole request.
///
/// One thread serves all end-points. It ends with ``stop()`` or when the origin is let go.
public final class Origin: Sendable {
  /// The ports that the origin listens on, one for each end-point.
  public let ports: [UInt16]

  private let shared: OriginShared
  private let thread: WorkerThread

  /// Starts an origin with so many end-points, each on a free port of 127.0.0.1.
  ///
  /// - Throws: ``OriginError`` when `endPoints` is less than one, or when the system has no ports, descriptors or
  ///   threads to give.
  public convenience init(endPoints: Int = 1, script: OriginScript = OriginScript()) throws(OriginError) {
    try self.init(ports: Array(repeating: 0, count: max(0, endPoints)), script: script)
  }

  /// Starts an origin on these ports of 127.0.0.1, where 0 stands for any free one.
  ///
  /// - Throws: ``OriginError`` when there are no ports in the list or one of them can't be had, or when the system has
  ///   no descriptors or threads to give.
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
      listeners.forEach(Socket.close)
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
      // The thread keeps what is shared and not the origin, so that the origin can be let go while it runs.
      let thread = try WorkerThread(name: "headgate-origin") { OriginLoop(shared, listeners).run() }
      return (shared, thread)
    } catch {
      throw OriginError(.resources, errno: error.errno)
    }
  }

  deinit { stop() }

  /// The port of the first end-point.
  public var port: UInt16 { ports[0] }

  /// The URL of a path (which may have a query) at an end-point. An end-point that doesn't exist gets port 0, which no
  /// client can reach.
  public func url(_ path: String = "/", endPoint index: Int = 0) -> String {
    "http://127.0.0.1:\(ports.indices.contains(index) ? ports[index] : 0)\(path.hasPrefix("/") ? "" : "/")\(path)"
  }

  /// What an end-point has seen up to now; all zero for one that doesn't exist. From any thread.
  public func counts(endPoint index: Int = 0) -> OriginCounts { shared.counts(index) }

  /// Starts the counts of all end-points afresh: totals at zero, peaks at what is open now. From any thread.
  public func resetCounts() {
    shared.resetCounts()
    shared.post(.recount)
  }

  /// Replaces the script. Requests and connections that come after this call meet the new one. From any thread.
  public func setScript(_ script: OriginScript) { shared.script = script }

  /// Answers all requests that `/hold` keeps, and reads on where `/sink` pauses. Requests that are sent after this call are held anew. From any thread.
  public func release() { shared.post(.release(epoch: shared.nextRelease())) }

  /// Waits until the counts of an end-point fulfil a condition.
  ///
  /// - Parameters:
  ///   - condition: Called now and on every change of the counts, so that one that holds for an instant only is seen
  ///     too. Runs on the thread that serves all connections; it must return soon and must not wait for the origin.
  ///   - index: The end-point; the counts of one that doesn't exist are zero for ever.
  ///   - deadline: When to give up.
  /// - Returns: Whether the condition came to hold; false when the deadline passed, the task was cancelled or the
  ///   origin stopped before.
  public func waitUntil(
    _ condition: @escaping @Sendable (OriginCounts) -> Bool,
    endPoint index: Int = 0,
    until deadline: Deadline
  ) async -> Bool {
    if condition(counts(endPoint: index)) { return true }
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
        // A cancellation from before came too early for the thread to know what it meant.
        if Task.isCancelled { shared.post(.cancelWait(number)) }
      }
    } onCancel: {
      shared.post(.cancelWait(number))
    }
  }

  /// Closes all connections and ports and ends the thread. Later calls do nothing.
  ///
  /// Returns when all is closed, which takes no longer than the thread's present turn; on that thread itself (in a hook
  /// or a condition) it returns at once and all is closed right after.
  public func stop() {
    shared.post(.stop)
    if !shared.isOnThread { thread.join() }
  }
}
