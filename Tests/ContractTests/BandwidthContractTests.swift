import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

/// A bandwidth limit over real connections.
@Suite struct BandwidthContractTests {
  @Test(
    "transfers are never faster than the limit, in both directions, and all arrive", arguments: TransportOnTrial.all)
  func limited(_ trial: TransportOnTrial) async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try trial.make(),
      limits: try GateLimits(endPoint: EndPointLimits(requests: 8, bandwidth: 2_000_000), bandwidth: 1_000_000))
    guard trial.capabilities.contains(.backPressure) else {
      let error = await #expect(throws: DispatchError.self) { try await dispatcher.data(for: origin.url("/bytes/10")) }
      #expect(error?.code == .unsupported)
      return await dispatcher.shutDown()
    }
    let start = Deadline.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let response = try await dispatcher.data(for: origin.url("/bytes/200000"))
          #expect(response.body.count == 200_000)
        }
      }
      group.addTask {
        let request = try DispatchRequest(
          origin.url("/echo"), method: .put, body: RequestBody([UInt8](repeating: 7, count: 200_000)))
        #expect(try await dispatcher.data(for: request).body.count == 200_000)
      }
      try await group.waitForAll()
    }
    // 1.2 seconds' worth, less 16 ms and the last piece of each. A busy machine makes this longer.
    let ran = Deadline.now - start
    #expect(ran >= .milliseconds(700), "\(ran)")
    await dispatcher.shutDown()
  }
}
