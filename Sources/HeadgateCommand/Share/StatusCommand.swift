import ArgumentParser
import HeadgateDispatch
import HeadgateSharing
import HeadgateThreads

/// `headgate status`: who holds and who waits for shared permits.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the permits that programs share, who holds them, and who waits.",
    discussion: """
      The processes are those of this machine, with the time at which they got the permit or asked for it. If several \
      processes hold one permit, such as a shell and its child, the oldest is shown. Redis does not know processes.

      EXAMPLES
        headgate status
        headgate status --json
        headgate status unix:/tmp/team
        headgate status redis://limits.example:6379#crawl
      """
  )

  @Argument(
    help: ArgumentHelp("The same as for --share. (default: unix)", valueName: "with"),
    completion: .list(["unix", "unix:", "redis://"]), transform: OptionValue.share)
  var share = ShareRule.unix(.user)

  @Flag(help: "Write one JSON object.")
  var json = false

  func run() async throws {
    let text: String
    switch (share, json) {
    case (.redis(let url), true): text = StatusText.json(try RedisShare.state(url), folder: nil)
    case (.redis(let url), false): text = shown(StatusText.table(try RedisShare.state(url)))
    case (.unix(let folder), true): text = StatusText.json(try state(of: folder) ?? PermitState(), folder: folder)
    case (.unix(let folder), false): text = shown(try table(of: folder))
    }
    try Descriptor.write(Array(text.utf8), to: 1)
  }

  private func shown(_ lines: [String]) -> String {
    lines.map { HeadgateCommandLine.harmless($0) + "\n" }.joined()
  }

  private func state(of folder: PermitFolder) throws(FetchProblem) -> PermitState? {
    do throws(SharingError) { return try PermitStatus.state(from: folder) } catch { throw FetchProblem("\(error)") }
  }

  private func table(of folder: PermitFolder) throws(FetchProblem) -> [String] {
    let lines: [String]
    do throws(SharingError) { lines = try PermitStatus.read(from: folder) } catch { throw FetchProblem("\(error)") }
    let remarks = folder.remark.map { ["note: \($0)"] } ?? []
    guard !lines.isEmpty else { return ["folder: \(folder)", "no program shares permits there"] + remarks }
    // A server of an earlier version knows no more than that.
    let state = try? state(of: folder)
    let people = state.map { StatusText.people($0, folder) } ?? []
    return ["folder: \(folder)"] + lines + people + remarks
  }
}

/// The state of shared permits, as text.
enum StatusText {
  /// A table of a namespace in Redis.
  static func table(_ state: PermitState) -> [String] {
    let rows = state.places.map { place in
      [place.name, "\(place.running)", "\(place.waiting)", place.limit.map { "\($0)" } ?? "-"]
    }
    return ["programs connected: \(state.programs), permits held: \(state.held)"]
      + (rows.isEmpty ? [] : TextTable.lines([["scope", "running", "waiting", "limit"]] + rows, left: [0]))
  }

  /// Two tables: who holds, and who waits.
  static func people(_ state: PermitState, _ folder: PermitFolder) -> [String] {
    people("held by", state.holdingPeople(in: folder)) + people("waited for by", state.waitingPeople())
  }

  private static func people(_ title: String, _ people: [PermitState.Person]) -> [String] {
    guard !people.isEmpty else { return [] }
    let rows = people.map { person in
      let others = person.processes > 1 ? " (and \(person.processes - 1) more)" : ""
      return [
        person.place, person.process.map { "\($0)" } ?? "-", time(person.since) ?? "-",
        ShownText.of(person.command ?? "-", atMost: 200) + others,
      ]
    }
    return [""] + TextTable.lines([[title, "process", "since", "command"]] + rows, left: [0, 2, 3])
  }

  /// One line of JSON, with its end.
  ///
  /// - Parameter folder: The folder of the server. Nil for Redis, which knows no processes.
  static func json(_ state: PermitState, folder: PermitFolder?) -> String {
    var line = JSONLine()
    if let folder { line.add("folder", folder.path) }
    line.add("programs", state.programs)
    line.add("held", state.held)
    line.add("waiting", state.waiting)
    line.add(
      "end_points",
      all: state.places.map { place in
        var entry = JSONLine()
        entry.add("end_point", place.name)
        entry.add("running", place.running)
        entry.add("waiting", place.waiting)
        entry.add("limit", place.limit)
        entry.add("oldest_s", seconds: place.oldest?.inSeconds)
        entry.add("waits_for", place.reason)
        return entry
      })
    if let folder {
      line.add("holders", all: state.holdingPeople(in: folder).map(entry))
      line.add("waiters", all: state.waitingPeople().map(entry))
    }
    return line.line
  }

  private static func entry(_ person: PermitState.Person) -> JSONLine {
    var entry = JSONLine()
    entry.add("end_point", person.place)
    entry.add("process", person.process.map { Int($0) })
    entry.add("processes", person.processes)
    entry.add("command", person.command)
    entry.add("since", time(person.since))
    return entry
  }

  private static func time(_ milliseconds: Int64?) -> String? {
    milliseconds.map { WallClock.text(seconds: Int($0 / 1000), milliseconds: Int($0 % 1000)) }
  }
}

extension JSONLine {
  /// Adds an array of objects, which may be empty.
  fileprivate mutating func add(_ name: String, all objects: [JSONLine]) {
    add(name, json: "[\(objects.map { $0.line.dropLast() }.joined(separator: ","))]")
  }
}
