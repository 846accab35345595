/// The transport's control of an exchange whose caller already has a control before the transport starts it. Calls made
/// in the meantime are made up for when the transport's control arrives.
struct ControlSlot {
  private(set) var control: (any ExchangeControl)?
  private(set) var isCancelled = false
  /// Whether the exchange has ended. From then on no control is stored.
  private(set) var isOver = false
  private var missedResume = false

  /// What a control that has just been stored must do.
  enum Errand { case nothing, cancel, resume }

  mutating func store(_ control: any ExchangeControl) -> Errand {
    if !isOver { self.control = control }
    return isCancelled ? .cancel : missedResume ? .resume : .nothing
  }

  /// Returns the control to cancel, if there is one.
  mutating func cancel() -> (any ExchangeControl)? {
    isCancelled = true
    return control
  }

  /// Returns the control to resume, if there is one.
  mutating func resume() -> (any ExchangeControl)? {
    if control == nil { missedResume = true }
    return control
  }

  /// Ends the exchange. Returns whether this is its first end, and the control, to be released outside the lock.
  mutating func end() -> (isFirst: Bool, control: (any ExchangeControl)?) {
    defer { isOver = true }
    return (!isOver, control.take())
  }
}

extension ExchangeControl {
  func run(_ errand: ControlSlot.Errand) {
    switch errand {
    case .nothing: break
    case .cancel: cancel()
    case .resume: resume()
    }
  }
}
