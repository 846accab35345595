import HeadgateTesting

extension Gate {
  /// Waits until the gate is open, also if the task is cancelled: what the test gives up would otherwise end before the
  /// call that it waits for.
  func waitInAnyCase() async { _ = await Task { try? await wait() }.value }
}
