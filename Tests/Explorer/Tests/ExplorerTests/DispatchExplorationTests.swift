import Testing

extension Explorations {
  /// Requests from their submission to their end, with all possible concurrent events, in every interleaving up to the
  /// bound: each caller gets one end, and nothing is left.
  @Suite struct DispatchExplorationTests {
    static let scripts = cancels + times + backoffs + moves + interceptions + ends + limits + permits

    @Test("in every interleaving a request ends once, and leaves nothing behind", arguments: scripts.indices)
    func holds(index: Int) throws {
      let script = Self.scripts[index]
      #expect(try script.explore() > 5, "\(script.name)")
    }
  }
}
