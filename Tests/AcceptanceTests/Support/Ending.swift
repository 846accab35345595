import Foundation
import Testing

/// One way in which a run ends: the command line, and the observable end.
struct Ending: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// For the shell. `$ORIGIN` is a server that has every URL, `$TLS` one whose certificate has no known authority.
  let line: String
  let status: Int32
  /// The beginning of the last line.
  let last: String
  /// The text of another line; nil if there is none.
  let says: String?
  /// Sent to the command while three requests run.
  var signals: [Int32] = []
  var hasReader = true

  init(
    _ name: String, _ line: String, _ status: Int32, _ last: String, says: String? = nil, signals: [Int32] = [],
    hasReader: Bool = true
  ) {
    (testDescription, self.line, self.status, self.last) = (name, line, status, last)
    (self.says, self.signals, self.hasReader) = (says, signals, hasReader)
  }

  /// Makes the superuser obey the modes of folders, by dropping the capability to override them.
  private static let unprivileged = geteuid() == 0 ? "setpriv --bounding-set=-dac_override " : ""

  /// Ten requests that last until the server releases them, three at once.
  private static let held =
    "for n in 1 2 3 4 5 6 7 8 9 10; do echo $ORIGIN/hold?$n; done > list; exec headgate fetch -i list -P out --per-host 3"

  private static let waits = "waiting for 3 running requests to finish (3 at 127.0.0.1:"

  /// A disk of 64 KB, for one process.
  private static let fullDisk = Ending(
    "a full disk, for files",
    "mkdir out; unshare -rm sh -c 'mount -t tmpfs -o size=64k none out; exec headgate fetch -P out "
      + "--per-host 1 $ORIGIN/bytes/300000 $ORIGIN/bytes/300001'", 3,
    "ok 0  failed 1  skipped 1  bytes 0 B  ",
    // Either URL may come first: each is sent by a separate task.
    says: ".part: No space left on device; nothing more is fetched\n")

  /// Whether a process may mount its own disk here; some containers don't allow it.
  private static let canMount: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/tmp"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.runWithSignals()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  static let all = usual + (canMount ? [fullDisk] : [])

  private static let usual = [
    Ending("all fetched", "headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2 -P out", 0, "ok 2  failed 0  bytes 3 B  "),
    Ending(
      "some are missing", "headgate fetch $ORIGIN/bytes/1 $ORIGIN/status/404 -P out", 8,
      "ok 1  failed 1  bytes 1 B  ", says: "/status/404: status 404\n"),
    Ending(
      "a host that does not answer", "headgate fetch http://127.0.0.1:1/x $ORIGIN/bytes/1 -P out", 4,
      "ok 1  failed 1  bytes 1 B  ", says: "http://127.0.0.1:1/x: no connection could be made"),
    Ending(
      "a host that does not exist", "headgate fetch http://none.invalid/x -P out", 4, "ok 0  failed 1  bytes 0 B  ",
      says: "http://none.invalid/x: the host name could not be resolved"),
    Ending(
      "a certificate without a known authority", "headgate fetch $TLS/x -P out", 5, "ok 0  failed 1  bytes 0 B  ",
      says: "; give the server's authority with --cacert\n"),
    Ending(
      "timed out", "headgate fetch $ORIGIN/silence -P out -m 0.2", 6, "ok 0  failed 1  bytes 0 B  ",
      says: "; raise --max-time, or lower --per-host\n"),
    Ending(
      "failures of several kinds", "headgate fetch $ORIGIN/status/404 http://127.0.0.1:1/x $ORIGIN/bytes/1 -P out", 1,
      "ok 1  failed 2  bytes 1 B  ", says: "/status/404: status 404\n"),
    Ending(
      "a list with bad lines", "printf '%s\\nfoo\\n' $ORIGIN/bytes/1 > list; headgate fetch -i list -P out", 2,
      "ok 1  failed 1  bytes 1 B  ", says: "headgate: list:2: \"foo\" has no scheme; "),
    Ending(
      "a list that is missing", "headgate fetch -i list -P out", 3,
      "headgate: the list list can't be read: No such file or directory; looked for in /"),
    Ending(
      "a folder that can't be written to",
      "mkdir out; chmod 500 out; \(unprivileged)headgate fetch $ORIGIN/bytes/1 -P out", 3,
      "headgate: the folder out can't be written to: Permission denied; give another one with -P"),
    Ending(
      "a full disk, for the output", "headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2 > /dev/full", 3,
      "ok 0  failed 1  skipped 1  bytes 0 B  ", says: "headgate: standard output: No space left on device\n"),
    Ending(
      "a file longer than files may be", "ulimit -f 8; headgate fetch $ORIGIN/bytes/300000 $ORIGIN/bytes/1 -P out",
      3, "ok 1  failed 1  bytes 1 B  ", says: "/bytes/300000: writing out/300000.part: File too large\n"),
    Ending(
      "an output that nobody reads", "headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2", 3,
      "ok 0  failed 1  skipped 1  bytes 0 B  ", says: "headgate: standard output: Broken pipe\n", hasReader: false),
    Ending(
      "an output that is closed", "headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2 >&-", 3,
      "ok 0  failed 1  skipped 1  bytes 0 B  ", says: "headgate: standard output: Bad file descriptor\n"),
    Ending(
      "the time for the whole run is over", "headgate fetch $ORIGIN/silence $ORIGIN/bytes/1 -P out --deadline 10", 6,
      "ok 1  failed 1  bytes 1 B  ", says: "/silence: the deadline passed before the response's head"),
    Ending("Ctrl-C", held, 130, "ok 3  failed 0  skipped 7  bytes ", says: waits, signals: [SIGINT]),
    Ending(
      "Ctrl-C twice", held, 130, "ok 0  failed 0  skipped 10  bytes 0 B  ", says: waits, signals: [SIGINT, SIGINT]),
    Ending(
      "Ctrl-C twice, while requests run that must not be sent twice", held + " -d x", 130,
      "ok 0  failed 0  unknown 3  skipped 7  bytes 0 B  ", says: waits, signals: [SIGINT, SIGINT]),
    Ending(
      "Ctrl-C twice, while rows are sent that must not be sent twice",
      "for n in 1 2 3 4 5 6 7 8 9 10; do echo '{\"n\":'$n'}'; done > rows; exec headgate call -i rows -X POST "
        + "--url \"$ORIGIN/hold?{n}\" -o results --per-host 3", 130,
      "ok 0  failed 0  unknown 3  skipped 7  bytes 0 B  ", says: waits, signals: [SIGINT, SIGINT]),
    Ending(
      "Ctrl-C while a URL waits for its next attempt",
      "exec headgate fetch \"$ORIGIN/short?declared=900&sent=100\" $ORIGIN/hold?1 $ORIGIN/hold?2 -P out --session run "
        + "--retry 50", 130, "ok 2  failed 1  ", says: "/short?declared=900&sent=100: ", signals: [SIGINT]),
    Ending("SIGTERM", held, 130, "ok 3  failed 0  skipped 7  bytes ", says: waits, signals: [SIGTERM]),
    Ending(
      "SIGTERM twice", held, 130, "ok 0  failed 0  skipped 10  bytes 0 B  ", says: waits, signals: [SIGTERM, SIGTERM]),
    Ending(
      "a session with nothing left to do",
      "run() { headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2 -P out --session run; }; run 2> first; run", 0,
      "ok 0  failed 0  done before 2  bytes 0 B  "),
    Ending(
      "a session that repeats what failed, and fails again",
      "headgate fetch $ORIGIN/bytes/1 $ORIGIN/status/404 -P out --session run 2> first; "
        + "headgate fetch -P out --session run --retry-failed", 8,
      "ok 0  failed 1  bytes 0 B  ", says: "/status/404: status 404\n"),
    Ending(
      "a session that another run has",
      "flock run headgate fetch $ORIGIN/bytes/1 -P out --session run", 3,
      "headgate: the session run is in use by another run; wait for its end, or give another file"),
    Ending(
      "enough failures",
      "headgate fetch $ORIGIN/status/404 $ORIGIN/bytes/1 $ORIGIN/bytes/2 -P out --max-failures 1 --rate 1/min", 8,
      "ok 0  failed 1  skipped 2  bytes 0 B  ",
      says: "headgate: 1 failed, and --max-failures is 1: running requests are finished, and the rest is skipped\n"),
    Ending(
      "a body with another checksum",
      "printf '%064d  1\\n' 0 > sums; headgate fetch $ORIGIN/bytes/1 $ORIGIN/bytes/2 -P out --checksum-file sums", 4,
      "ok 1  failed 1  bytes 2 B  ", says: "/bytes/1: its SHA-256 is "),
    Ending(
      "all rows sent", "echo '{\"n\":1}' | headgate call -i - --url \"$ORIGIN/bytes/{n}\" -o results", 0,
      "ok 1  failed 0  bytes 1 B  "),
    Ending(
      "a row without the field", "echo '{\"m\":1}' | headgate call -i - --url \"$ORIGIN/bytes/{n}\" -o results", 2,
      "ok 0  failed 1  bytes 0 B  ", says: "headgate: standard input:1: the row has no field n; the row has: m\n"),
    Ending(
      "a row that was sent, and nothing is known of it",
      "echo '{\"n\":1}' | headgate call -i - -X POST --url \"$ORIGIN/reset?{n}\" --json '{\"n\":{n}}' -o results", 9,
      "ok 0  failed 0  unknown 1  bytes 0 B  ",
      says: "; its outcome is unknown, and it must not be sent twice: see --idempotency-key\n"),
  ]
}
