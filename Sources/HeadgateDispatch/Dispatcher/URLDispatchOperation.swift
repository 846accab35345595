/// The handle of one request on its way through a dispatcher: waiting, running, ended.
///
/// Copies are handles of the same request. Letting go of it changes nothing.
public struct URLDispatchOperation: Sendable {
  let operation: DispatchOperation

  /// The request as it was submitted.
  public var request: DispatchRequest { operation.request }

  /// Its lane.
  public var requestClass: RequestClass { operation.requestClass }

  /// Where it is for; after a redirect, where that points.
  public var endPoint: EndPoint { operation.endPoint }

  /// How soon it starts. Changeable while it waits: it takes the place that it would have had from the start. Changes
  /// nothing for one that runs, until a redirect makes it wait again.
  public var priority: RequestPriority {
    get { operation.priority }
    nonmutating set { operation.setPriority(newValue) }
  }

  /// Ends it at once with the error `cancelled`: in the queue its place is free, while running its connection is
  /// closed. Does nothing once it has ended. From any thread.
  public func cancel() { operation.cancel() }
}
