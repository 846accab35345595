import HeadgateThreads
import Synchronization

/// The bandwidth limits of a gate: in total, and of each end-point that has one. Shared by the transfers of all
/// dispatchers at the gate.
package final class GateBandwidth: Sendable {
  /// Nil: the total.
  private typealias Scope = EndPoint?

  private struct Limited {
    var share: BandwidthShare
    var alarm = GateAlarm()
  }

  private struct Transfer {
    /// The limits that apply, the end-point's first: it waits for its turn in one after the other.
    var accounts: [(scope: Scope, account: BandwidthShare.Account)] = []
    /// The most bytes that it can move next.
    var left = Int.max
    /// The limit whose turn it waits for.
    var place: (index: Int, handle: BandwidthShare.Handle)?
    var whenTurn: (@Sendable () -> Void)?
  }

  private struct State {
    var limited: [Scope: Limited] = [:]
    var transfers: [Int: Transfer] = [:]
    var lastNumber = 0
    /// With so many limits, those without transfers are forgotten.
    var mostLimited = State.fewLimited

    static let fewLimited = 64

    /// Forgets limits without transfers, unless what their last ones have moved is still unpaid. O(1), amortized.
    mutating func forgetUnused(at now: Deadline) {
      guard limited.count >= mostLimited else { return }
      limited = limited.filter { $0.value.share.users > 0 || $0.value.share.isOwing(at: now) }
      mostLimited = max(Self.fewLimited, 2 * limited.count)
    }
  }

  /// What follows an event, with no lock held.
  private struct Effects {
    var orders: [(scope: Scope, order: GateAlarm.Order)] = []
    /// What those wait for whose turn has come in all lines.
    var turns: [@Sendable () -> Void] = []
  }

  private typealias Rule = (scope: Scope, rate: Int?)

  private let gate: LockedGateState
  private let timers: any TimerService
  // Without any limit, a request reads only this.
  private let isLimited: Atomic<Bool>
  private let state = Locked(State())

  init(_ gate: LockedGateState, _ limits: GateLimits, _ timers: any TimerService) {
    self.gate = gate
    self.timers = timers
    isLimited = Atomic(limits.hasBandwidth)
  }

  /// Whether any bandwidth is limited.
  package var isInUse: Bool { isLimited.load(ordering: .relaxed) }

  /// Whether a limit applies to transfers to an end-point.
  package func limits(_ endPoint: EndPoint) -> Bool {
    isInUse
      && gate.withLock { $0.scheduler.limits.bandwidth ?? $0.scheduler.limits.of(endPoint).bandwidth } != nil
  }

  /// Enters a transfer to an end-point. Nil if no limit applies to it now.
  package func flow(to endPoint: EndPoint) -> BandwidthFlow? {
    guard isInUse else { return nil }
    let number: Int? = state.withLock { state in
      // A copy of all limits would make the next change copy them.
      let (own, total) = gate.withLock { ($0.scheduler.limits.of(endPoint).bandwidth, $0.scheduler.limits.bandwidth) }
      state.forgetUnused(at: timers.now)
      var transfer = Transfer()
      for case let (scope, rate?) in [(endPoint, own), (nil, total)] as [Rule] {
        let account = state.limited[scope, default: Limited(share: BandwidthShare(rate: rate))].share.enter()
        // It may be that of earlier transfers, before the limit was removed and set again.
        state.limited[scope]?.share.setRate(rate, at: timers.now)
        transfer.accounts.append((scope, account))
      }
      guard !transfer.accounts.isEmpty else { return nil }
      state.lastNumber += 1
      state.transfers[state.lastNumber] = transfer
      return state.lastNumber
    }
    return number.map { BandwidthFlow(self, $0) }
  }

  /// Applies changed limits to the transfers that run. One that began without a limit gets none.
  ///
  /// - Parameter endPoint: The only end-point affected. Nil if others may be.
  func limitsChanged(at endPoint: EndPoint?) {
    perform { state, effects in
      // Read under this lock, so that of two changes at once the later one applies.
      let limits = gate.withLock { $0.scheduler.limits }
      if endPoint == nil {
        isLimited.store(limits.hasBandwidth, ordering: .relaxed)
      } else if let endPoint, limits.of(endPoint).bandwidth != nil {
        isLimited.store(true, ordering: .relaxed)
      }
      for scope in endPoint.map({ [$0] }) ?? Array(state.limited.keys) where state.limited[scope] != nil {
        let rate = scope.map { limits.of($0).bandwidth } ?? limits.bandwidth
        state.limited[scope]?.share.setRate(rate, at: timers.now)
        giveTurns(in: scope, &state, &effects)
      }
    }
  }

  // MARK: The flows' side

  fileprivate func moved(_ count: Int, by number: Int) {
    state.withLock { state in
      // Taken out, so that its array is changed in place.
      guard var transfer = state.transfers.removeValue(forKey: number) else { return }
      let now = timers.now
      for index in transfer.accounts.indices {
        let scope = transfer.accounts[index].scope
        state.limited[scope]?.share.moved(count, by: &transfer.accounts[index].account, at: now)
      }
      state.transfers[number] = transfer
    }
  }

  fileprivate func mustWait(_ number: Int, left: Int, _ whenTurn: @escaping @Sendable () -> Void) -> Bool {
    // What the earlier closure captures is released with no lock held.
    let (waits, _) = perform { state, effects -> (Bool, (@Sendable () -> Void)?) in
      state.transfers[number]?.left = max(1, left)
      let isWaiting = state.transfers[number]?.place != nil
      guard isWaiting || enqueue(number, &state, &effects) else { return (false, nil) }
      let forgotten = state.transfers[number]?.whenTurn
      state.transfers[number]?.whenTurn = whenTurn
      if !isWaiting { passOn(from: number, &state, &effects) }
      return (true, forgotten)
    }
    return waits
  }

  fileprivate func isWaiting(_ number: Int) -> Bool { state.withLock { $0.transfers[number]?.place != nil } }

  /// Removes a transfer. Returns what it waited with, if it waited.
  fileprivate func leave(_ number: Int) -> (@Sendable () -> Void)? {
    perform { state, effects -> Transfer? in
      guard let transfer = state.transfers[number] else { return nil }
      for (index, (scope, _)) in transfer.accounts.enumerated() {
        state.limited[scope]?.share.leave(transfer.place?.index == index ? transfer.place?.handle : nil)
      }
      passOn(from: number, &state, &effects)
      state.transfers[number] = nil
      return transfer
    }?.whenTurn
  }

  /// Decides under the lock and acts after it: sets the timers, then calls those whose turn has come.
  private func perform<Result>(_ event: (inout State, inout Effects) -> Result) -> Result {
    let (result, effects) = state.withLock { state in
      var effects = Effects()
      return (event(&state, &effects), effects)
    }
    for (scope, order) in effects.orders { carryOut(order, scope) }
    for turn in effects.turns { turn() }
    return result
  }

  // MARK: Under the lock

  /// Puts a transfer into the first line in which it must wait, beginning with that of one of its limits. Returns false
  /// if it need not wait.
  private func enqueue(
    _ number: Int, from first: Int = 0, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    guard let transfer = state.transfers[number], transfer.place == nil else { return false }
    for index in transfer.accounts.indices[first...] {
      let (scope, account) = transfer.accounts[index]
      guard state.limited[scope]?.share.mustWait(account, at: timers.now) == true,
        let handle = state.limited[scope]?.share.wait(number, account, atMost: transfer.left)
      else { continue }
      state.transfers[number]?.place = (index, handle)
      arm(scope, &state, &effects)
      return true
    }
    return false
  }

  /// Gives the turns that are due in a line.
  private func giveTurns(
    in scope: Scope, _ state: inout State, _ effects: inout Effects
  ) {
    for number in state.limited[scope]?.share.turns(at: timers.now) ?? [] { goOn(number, &state, &effects) }
    arm(scope, &state, &effects)
  }

  /// Gives one turn in each of a transfer's lines, if more may move now.
  private func passOn(
    from number: Int, _ state: inout State, _ effects: inout Effects
  ) {
    for (scope, _) in state.transfers[number]?.accounts ?? [] {
      if let next = state.limited[scope]?.share.turn(at: timers.now) { goOn(next, &state, &effects) }
      arm(scope, &state, &effects)
    }
  }

  /// A transfer has had its turn in the line where it waits.
  private func goOn(
    _ number: Int, _ state: inout State, _ effects: inout Effects
  ) {
    guard let place = state.transfers[number]?.place else { return }
    state.transfers[number]?.place = nil
    if enqueue(number, from: place.index + 1, &state, &effects) { return }
    if let turn = state.transfers[number]?.whenTurn.take() { effects.turns.append(turn) }
  }

  private func arm(_ scope: Scope, _ state: inout State, _ effects: inout Effects) {
    guard let share = state.limited[scope]?.share else { return }
    let order = state.limited[scope]?.alarm.order(for: share.wakeAt(after: timers.now))
    if let order { effects.orders.append((scope, order)) }
  }

  // MARK: Timers

  private func carryOut(_ order: GateAlarm.Order, _ scope: Scope) {
    switch order {
    case .cancel(let timer): timer.cancel()
    case .arm(let moment, let number):
      let timer = timers.schedule(at: moment) { [weak self] in self?.fired(scope, number) }
      let superfluous = state.withLock { state -> ScheduledTimer? in
        guard state.limited[scope] != nil else { return timer }
        return state.limited[scope]?.alarm.keep(timer, number: number)
      }
      superfluous?.cancel()
    }
  }

  private func fired(_ scope: Scope, _ number: UInt64) {
    perform { state, effects in
      if state.limited[scope]?.alarm.rings(number: number) == true { giveTurns(in: scope, &state, &effects) }
    }
  }
}

/// One direction of one transfer, under the bandwidth limits that apply to it. It leaves them at its end.
package final class BandwidthFlow: Sendable {
  private let owner: GateBandwidth
  private let number: Int

  fileprivate init(_ owner: GateBandwidth, _ number: Int) { (self.owner, self.number) = (owner, number) }

  deinit { _ = owner.leave(number) }

  /// Counts bytes that have moved.
  package func moved(_ count: Int) { owner.moved(count, by: number) }

  /// Whether more may move only at its next turn.
  ///
  /// - Parameters:
  ///   - left: The most bytes that it can move next, if known.
  ///   - whenTurn: Called once, if it must wait, when its turn has come: on any thread, with no lock held, and perhaps
  ///     before this method returns, or inside ``end()``. In a repeated call, it replaces the earlier one.
  package func mustWait(left: Int? = nil, _ whenTurn: @escaping @Sendable () -> Void) -> Bool {
    owner.mustWait(number, left: left ?? .max, whenTurn)
  }

  /// Whether it waits for its turn.
  package var isWaiting: Bool { owner.isWaiting(number) }

  /// The transfer is over, and need not wait any more. Repeated calls do nothing.
  package func end() { owner.leave(number)?() }
}
