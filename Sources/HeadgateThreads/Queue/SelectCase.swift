/// One of the operations among which a `select` chooses: a take or a put, with the result of the select if it is
/// performed.
///
/// Created by `onTake` and `onPut` of queues. It can be used in several selects, one after another.
public struct SelectCase<Value: ~Copyable> {
  let line: any QueueLine
  /// Called after the case has stood in line. Returns the value if a partner has performed the operation meanwhile.
  /// Calls `done` before the body.
  var handed: (_ done: () -> Void) -> Value? = { _ in nil }
  /// Performs the operation if it need not wait. Calls `done` after the operation and before the body.
  let attempt: (_ done: () -> Void) -> TakeAttempt<Value>
}

// The result of trying one case of a select, as if the select took its value from a queue.
extension TakeAttempt where Element: ~Copyable {
  /// The result of an attempt to put.
  init<Source: ~Copyable>(_ attempt: consuming PutAttempt<Source>, _ done: () -> Void, _ body: () -> Element) {
    switch consume attempt {
    case .accepted:
      done()
      self = .element(body())
    case .full: self = .empty
    case .closed: self = .closed
    }
  }

  /// The result of an attempt to take.
  init<Source: ~Copyable>(
    _ attempt: consuming sending TakeAttempt<Source>, _ done: () -> Void, _ body: (consuming sending Source) -> Element
  ) {
    switch consume attempt {
    case .element(let element):
      done()
      self = .element(body(element))
    case .empty: self = .empty
    case .closed: self = .closed
    }
  }
}

extension BlockingQueue where Element: ~Copyable {
  /// A `select` case that takes from this queue.
  ///
  /// - Parameter body: Turns the element into the result of the select. Called without a lock.
  public func onTake<Value: ~Copyable>(
    _ body: @escaping (consuming sending Element) -> Value
  ) -> SelectCase<Value> {
    guard let rendezvous else {
      return SelectCase(line: CoreLine(core: core, isOfTakers: true)) { TakeAttempt(self.attempt(), $0, body) }
    }
    let node = Hand<Element>()
    return SelectCase(
      line: HandLine(rendezvous: rendezvous, node: node, operation: .take),
      handed: { done in
        guard let element = node.element.take() else { return nil }
        node.renew()
        done()
        return body(element)
      },
      attempt: { TakeAttempt(self.attempt(), $0, body) })
  }
}

extension BlockingQueue {
  /// A `select` case that puts an element into this queue. If another case is chosen, the element is not put.
  ///
  /// Requires `Sendable` elements, since the case may put the same element again in a later select.
  ///
  /// - Parameters:
  ///   - element: The element to put.
  ///   - body: Produces the result of the select. Called without a lock.
  public func onPut<Value: ~Copyable>(
    _ element: Element, _ body: @escaping () -> Value
  ) -> SelectCase<Value> where Element: Sendable {
    guard let rendezvous else {
      return SelectCase(line: CoreLine(core: core, isOfTakers: false)) {
        TakeAttempt(self.attempt(toPut: element), $0, body)
      }
    }
    let node = Hand<Element>(element)
    return SelectCase(
      line: HandLine(rendezvous: rendezvous, node: node, operation: .put),
      handed: { done in
        guard node.element == nil else { return nil }
        node.renew()
        node.element = element
        done()
        return body()
      },
      attempt: { TakeAttempt(self.attempt(toPut: element), $0, body) })
  }
}
