import HeadgateThreads

/// Keeps a stream's body alive from its submission until the head has come and the caller takes it over.
final class StreamOpening: Sendable {
  let body = Locked<StreamedBody?>(nil)

  func takeBody() -> StreamedBody? { body.withLock { $0.take() } }
}
