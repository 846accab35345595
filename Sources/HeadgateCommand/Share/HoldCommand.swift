import ArgumentParser
import HeadgateDispatch
import HeadgateSharing
import HeadgateThreads

/// `headgate hold`: runs a command while it holds a permit.
struct HoldCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hold",
    abstract: "Run a command as soon as its end-point or resource has room.",
    discussion: """
      Waits for a permit of END-POINT, then runs COMMAND in its place. COMMAND holds the permit until it exits or is \
      killed. The limits apply to all your programs on this machine together: every headgate hold, and every headgate \
      fetch or call with --share unix. If they give different limits, the strictest apply.

      A bare name instead of an end-point is a resource of this machine, for work that has nothing to do with a network: \
      builds, a graphics card, a licence. Programs that give the same name share its slots.

      A command that closes inherited descriptors, as ssh and daemons do, returns the permit at once. Run it from a \
      shell that keeps running: sh -c 'ssh HOST JOB; exit $?'.

      Without COMMAND it prints the line "granted" when it has the permit, and holds it until its standard input ends: \
      for programs in other languages, which start it and read that line.

      EXAMPLES
        headgate hold api.example.com:443 --per-host 4 -- \\
          curl -O https://api.example.com/a
        headgate hold builds --slots 2 make all
        headgate hold api.example.com:443 --refused-exit 75 ./upload data.json
        ls *.json | xargs -P50 -I{} \\
          headgate hold api.example.com:443 --per-host 4 -- ./upload {}
        headgate hold llm.example.com:443 --weight 800=90000/min -- ./ask.py
      """
  )

  @Argument(
    help: ArgumentHelp(
      "host:port, a URL, or any name without a dot for a resource of this machine, such as builds.",
      valueName: "end-point"), transform: OptionValue.held)
  var endPoint: EndPoint

  @Option(
    name: [.customLong("per-host"), .customLong("slots")],
    help: ArgumentHelp(
      "The number of permits that may be held at a time. (default: 6; 1 for a resource)", valueName: "n"),
    transform: OptionValue.count)
  var slots: Int?

  @Option(
    help: ArgumentHelp(
      "Permits that may be granted in a period: 10/s evenly spaced; 100/min, 5000/h or 20000/d in any such period. "
        + "Repeatable.", valueName: "n/s"), transform: OptionValue.plainRate)
  var rate: [Rate] = []

  @Option(
    help: ArgumentHelp(
      "The units that this command uses, such as tokens, and how many all commands may use per s, min, h or d: "
        + "800=90000/min.", valueName: "n=n/min"), transform: OptionValue.heldWeight)
  var weight: HeldWeight?

  @Flag(help: "The command runs for a long time, so it may use only half of the permits.")
  var long = false

  @Option(
    help: ArgumentHelp("Give up after waiting this long, with exit status 6.", valueName: "seconds"),
    transform: OptionValue.seconds)
  var wait: Duration?

  @Option(
    help: ArgumentHelp(
      "If COMMAND exits with this status, tell all programs that share that END-POINT has refused it: they pause. By custom "
        + "75. hold then stays as COMMAND's parent, passes signals on to it, and ends as it does.", valueName: "status"),
    transform: OptionValue.exitStatus)
  var refusedExit: Int32?

  @Option(
    help: ArgumentHelp(
      "Share permits only with programs that use this folder. (default: $HEADGATE_FOLDER, else /tmp/headgate-UID, for "
        + "all your programs)",
      valueName: "folder"), completion: .directory)
  var folder: String?

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp(
      "The command and its arguments. Write -- before it if it begins with a dash.", valueName: "command"))
  var command: [String] = []

  func validate() throws {
    guard refusedExit == nil || !command.isEmpty else {
      throw ValidationError("--refused-exit is the status of a command: give the command too.")
    }
  }

  /// What the permit is for.
  func demand() throws(LimitError) -> SharedDemand {
    let slots = slots ?? (endPoint.isResource ? 1 : EndPointLimits.standard.requests)
    let limits = try EndPointLimits(requests: slots, rates: rate, budgets: weight.map { [$0.budget] } ?? [])
    return SharedDemand(
      for: endPoint, lane: long ? .long : .short, weights: weight.map { [$0.budget.name: $0.units] } ?? [:],
      limits: try GateLimits(endPoint: limits))
  }

  func run() async throws {
    // Tasks run on threads that block signals, but nothing else waits for an interrupt here, and the command must not
    // begin with blocked signals.
    HeldCommand.unblockSignals()
    let folder = self.folder.map { PermitFolder(path: $0) } ?? .user
    let demand: SharedDemand
    do throws(LimitError) { demand = try self.demand() } catch { throw FetchProblem("\(error)", status: .usage) }
    if let remark = folder.remark { ShareText.say(remark) }
    let pipe: Int32?
    do throws(SharingError) {
      pipe = try PermitHolder.acquire(
        demand, in: folder, until: wait.map { .after($0) } ?? .distantFuture,
        startServer: ShareServerProcess.start)
    } catch {
      throw FetchProblem("\(error)")
    }
    guard pipe != nil else {
      throw FetchProblem(
        "no permit of \(endPoint) became free within the time of --wait; raise it, or see headgate status",
        status: .time)
    }
    guard let program = command.first else { return try HeldCommand.holdForInput() }
    guard let refusedExit else { throw HeldCommand.become(program, command) }
    let ending = try ChildCommand.run(program, command)
    // Before the permit is returned, so that nobody gets it in between.
    if ending == .exited(refusedExit) { ChildCommand.tellRefusal(of: endPoint, in: folder) }
    ChildCommand.end(as: ending)
  }
}

/// The weight of a held permit, and the budget that it is taken from.
struct HeldWeight: Hashable, Sendable {
  let units: Int
  let budget: Budget
}
