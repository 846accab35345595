/// One of the operations among which a `select` chooses: a take or a put, with the result of the select if it is
/// performed.
///
/// Created by `onTake` and `onPut` of queues. It can be used in several selects, one after another.
public struct SelectCase<Value: ~Copyable> {
  let line: any QueueLine
  /// Performs the operation if it need not wait. Calls `done` after the operation and before the body.
  let attempt: (_ done: () -> Void) -> SelectAttempt<Value>
  /// Called after the case has stood in line. Returns the value if a partner has performed the operation meanwhile.
  /// Calls `done` before the body.
  let handed: (_ done: () -> Void) -> Value?

  init(
    _ line: any QueueLine, handed: @escaping (_ done: () -> Void) -> Value? = { _ in nil },
    attempt: @escaping (_ done: () -> Void) -> SelectAttempt<Value>
  ) {
    self.line = line
    self.handed = handed
    self.attempt = attempt
  }
}

/// The result of trying one case of a select.
enum SelectAttempt<Value: ~Copyable>: ~Copyable {
  case done(Value)
  case blocked
  case closed

  /// The result of an attempt to put.
  init<Element: ~Copyable>(_ attempt: consuming PutAttempt<Element>, _ done: () -> Void, _ body: () -> Value) {
    switch consume attempt {
    case .accepted:
      done()
      self = .done(body())
    case .full: self = .blocked
    case .closed: self = .closed
    }
  }

  /// The result of an attempt to take.
  init<Element: ~Copyable>(
    _ attempt: consuming sending TakeAttempt<Element>, _ done: () -> Void, _ body: (consuming sending Element) -> Value
  ) {
    switch consume attempt {
    case .element(let element):
      done()
      self = .done(body(element))
    case .empty: self = .blocked
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
    guard let rendezvous else { return SelectCase(CoreLine(core, .take)) { SelectAttempt(self.attempt(), $0, body) } }
    let node = Hand<Element>()
    return SelectCase(
      HandLine(rendezvous, node, .take),
      handed: { done in
        guard let element = node.element.take() else { return nil }
        node.renew()
        done()
        return body(element)
      },
      attempt: { SelectAttempt(self.attempt(), $0, body) })
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
      return SelectCase(CoreLine(core, .put)) { SelectAttempt(self.attempt(toPut: element), $0, body) }
    }
    let node = Hand<Element>(element)
    return SelectCase(
      HandLine(rendezvous, node, .put),
      handed: { done in
        guard node.element == nil else { return nil }
        node.renew()
        node.element = element
        done()
        return body()
      },
      attempt: { SelectAttempt(self.attempt(toPut: element), $0, body) })
  }
}
