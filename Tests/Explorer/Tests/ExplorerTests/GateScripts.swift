import Exploring
import HTTPTypes

@testable import HeadgateDispatch

// Changes of limits, bare permits and sockets.
extension Explorations.DispatchExplorationTests {
  // MARK: Limits

  static let limits: [DispatchScript] = [
    DispatchScript(name: "a limit that is raised beside a finish", setting: .init(most: 2)) { stage in
      try stage.submit()
      try stage.submit()
      try stage.submit()
      return [{ stage.playAll() }, { stage.limit(2) }]
    },
    DispatchScript(name: "a limit that is lowered beside a finish", setting: .init(limit: 2)) { stage in
      try stage.submit()
      try stage.submit()
      try stage.submit()
      return [{ stage.playAll() }, { stage.limit(1) }]
    },
    DispatchScript(name: "two limits at once", setting: .init(most: 2, total: 1)) { stage in
      try stage.submit()
      try stage.submit(host: "b")
      stage.expect {
        let limits = stage.gate.limits
        return limits.endPoint == .classic && limits.agingInterval == .seconds(2) ? nil : "one was lost"
      }
      return [
        { stage.gate.updateLimits { $0.endPoint = .classic } },
        { stage.gate.updateLimits { $0.agingInterval = .seconds(2) } },
      ]
    },
    DispatchScript(name: "an end-point that is stopped and goes on, beside a submission") { stage in
      try stage.make()
      let endPoint = stage.operation(0).request.endPoint
      return [
        { stage.send(0) },
        {
          stage.gate.stop(endPoint)
          stage.gate.resume(endPoint)
        },
      ]
    },
    DispatchScript(name: "a request that becomes long, beside its end") { stage in
      try stage.submit()
      return [{ stage.playAll(pieces: 1) }, { _ = stage.operation(0).moveToLong() }]
    },
  ]

  // MARK: Permits and sockets

  static let permits: [DispatchScript] = [
    DispatchScript(name: "a bare permit beside a request") { stage in
      try stage.submit()
      return [{ stage.takePermit() }, { stage.playAll() }]
    },
    DispatchScript(name: "a bare permit that is given up, beside its grant") { stage in
      try stage.submit()
      let ends = Unseen(0)
      let request = Unseen<PermitRequest?>(
        stage.gate.requestPermit(for: stage.endPoint, deadline: .seconds(1)) { result in
          ends.use { $0 += 1 }
          _ = try? result.get().release()
        })
      stage.expect {
        if let request = request.use({ $0.take() }) { stage.keep(request) }
        return ends.use { $0 } == 1 ? nil : "it ended \(ends.use { $0 }) times"
      }
      return [{ request.use { $0 }?.cancel() }, { stage.playAll() }, { stage.timers.fire() }]
    },
    DispatchScript(name: "two bare permits and a request", detours: 3) { stage in
      try stage.make()
      return [{ stage.takePermit() }, { stage.takePermit() }, { stage.send(0) }]
    },
    DispatchScript(name: "a bare permit takes the socket of an idle connection") { stage in
      let holder = try stage.holder()
      return [{ holder.idle() }, { stage.takePermit() }]
    },
    DispatchScript(name: "a bare permit waits for a socket, and is given up") { stage in
      let holder = try stage.holder()
      // The thread that is started may retain its captures for longer than the script lasts.
      let request = Unseen<PermitRequest?>(nil)
      stage.expect {
        if let request = request.use({ $0.take() }) { stage.keep(request) }
        return nil
      }
      return [
        { holder.idle() },
        {
          let asked = stage.gate.requestPermit(for: stage.endPoint) { _ = try? $0.get().release() }
          request.use { $0 = asked }
          Run.current?.start { request.use { $0 }?.cancel() }
        },
      ]
    },
    DispatchScript(name: "sockets that become idle as their limit is lowered", setting: .init(limit: 2)) { stage in
      let (first, second) = (try stage.holder(), try stage.holder())
      stage.expect(first: true) { stage.gate.sockets.openCount <= 1 ? nil : "both sockets are left" }
      return [{ first.idle() }, { second.idle() }, { stage.limit(1) }]
    },
    DispatchScript(name: "one socket for two in turn, beside a limit that is raised", setting: .init(most: 2)) {
      stage in
      let (first, second) = (try stage.holder(isOpen: false), try stage.holder(isOpen: false))
      stage.expect(first: true) { first.hasUsed && second.hasUsed ? nil : "one waits for a socket in vain" }
      return [{ first.useOnce() }, { second.useOnce() }, { stage.limit(2) }]
    },
  ]
}

extension DispatchStage {
  /// Gives each end-point another limit.
  func limit(_ limit: Int) {
    if let limits = try? Self.limits(limit) { gate.setLimits(limits) }
  }

  /// Requests a bare permit and releases it as soon as it is granted, which must happen.
  func takePermit() {
    let isServed = Unseen(false)
    expect(first: true) { isServed.use { $0 } ? nil : "a bare permit does not come" }
    keep(
      gate.requestPermit(for: endPoint, deadline: .seconds(1)) { result in
        guard let permit = try? result.get() else { return }
        isServed.use { $0 = true }
        permit.release()
      })
  }

  /// A holder of sockets, which leaves at the end.
  func holder(isOpen: Bool = true) throws -> ScriptHolder {
    let holder = try ScriptHolder(gate, isOpen: isOpen)
    expect {
      holder.leave()
      return nil
    }
    return holder
  }
}
