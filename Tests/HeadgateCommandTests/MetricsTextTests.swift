import HeadgateSharing
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The numbers of a permit server for OpenMetrics.
@Suite struct MetricsTextTests {
  @Test("the text has a line for each end-point, and escapes names")
  func text() {
    var state = PermitState()
    (state.programs, state.held, state.waiting) = (3, 2, 1)
    var builds = PermitState.Place("builds", running: 2, waiting: 1, limit: 2)
    builds.oldest = .milliseconds(310)
    state.places = [builds, PermitState.Place("key a\"\\\n", running: 1, waiting: 0, limit: nil)]
    #expect(
      MetricsText.of(state) == """
        # TYPE headgate_programs gauge
        # HELP headgate_programs The programs that are connected to the server.
        headgate_programs 3
        # TYPE headgate_permits_held gauge
        # HELP headgate_permits_held The permits that are held.
        headgate_permits_held{end_point="builds"} 2
        headgate_permits_held{end_point="key a\\"\\\\\\n"} 1
        # TYPE headgate_permits_waiting gauge
        # HELP headgate_permits_waiting The requests that wait for a permit.
        headgate_permits_waiting{end_point="builds"} 1
        headgate_permits_waiting{end_point="key a\\"\\\\\\n"} 0
        # TYPE headgate_permits_limit gauge
        # HELP headgate_permits_limit The permits that may be held at a time.
        headgate_permits_limit{end_point="builds"} 2
        # TYPE headgate_oldest_wait_seconds gauge
        # UNIT headgate_oldest_wait_seconds seconds
        # HELP headgate_oldest_wait_seconds How long the oldest request has waited.
        headgate_oldest_wait_seconds{end_point="builds"} 0.310
        # EOF

        """)
    #expect(MetricsText.of(nil).contains("\nheadgate_programs 0\n"))
  }

  @Test("a name ends neither its label nor its line, whatever follows a mark in it")
  func marks() {
    var state = PermitState()
    state.places = [PermitState.Place("key a\"\u{301}\r\nb\\\u{301}", running: 1, waiting: 0, limit: nil)]
    let lines = MetricsText.of(state).unicodeScalars.split(separator: "\n").map { String($0) }
    let name = "key a\\\"\u{301}\r\\nb\\\\\u{301}"
    #expect(lines.contains("headgate_permits_held{end_point=\"\(name)\"} 1"))
  }

  @Test("the end-points beyond the most count together, also if one is called other")
  func bound() {
    var state = PermitState()
    let most = MetricsText.mostEndPoints
    let names = ["other"] + (0..<most + 200).map { "h\($0):80" }
    state.places = names.map { PermitState.Place($0, running: 1, waiting: 2, limit: 4) }
    let lines = MetricsText.of(state).split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("headgate_permits_held{") } == most)
    #expect(lines.contains("headgate_permits_held{end_point=\"other\"} 202"))
    #expect(lines.contains("headgate_permits_waiting{end_point=\"other\"} 404"))
    #expect(lines.count { $0.hasPrefix("headgate_permits_limit{") } == most)
  }

  @Test("a command's end is read from the system's status")
  func endings() {
    #expect(ChildCommand.Ending(status: 75 << 8) == .exited(75))
    #expect(ChildCommand.Ending(status: 0) == .exited(0))
    #expect(ChildCommand.Ending(status: 9) == .killed(signal: 9))
    #expect(ChildCommand.Ending(status: 11 | 0x80) == .killed(signal: 11))
  }
}
