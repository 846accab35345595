extension UnownedJob {
  /// Runs the job on the global executor because its own executor no longer can: every job must run.
  package func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(self)) }
}
