extension UnownedJob {
  /// Runs it on the global executor, where its own can't run it any more: a job must run.
  package func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(self)) }
}
