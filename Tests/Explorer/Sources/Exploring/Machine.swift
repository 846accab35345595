import CExplorer

/// Forwards the operations of the explored code to the run of the calling thread.
enum Machine {
  static func install() { _ = installed }

  private static let installed: Void = explorer_install(
    explorer_search(
      step: { run($0).step(Int($1)) },
      pause: { run($0).pause(Int($1)) },
      sleep: { run($0).sleep(Int($1), on: $2, until: $3) ? 1 : 0 },
      wake: { run($0).wake(Int($1), on: $2) ? 1 : 0 },
      now: { run($0).time },
      task: { run, job in job.map { Self.run(run).start(unsafeBitCast($0, to: UnownedJob.self)) } }
    ))

  private static func run(_ pointer: UnsafeMutableRawPointer?) -> Run {
    // The machine has it from `explorer_set_place`, and the thread's own closure keeps it alive.
    Unmanaged<Run>.fromOpaque(pointer.unsafelyUnwrapped).takeUnretainedValue()
  }
}
