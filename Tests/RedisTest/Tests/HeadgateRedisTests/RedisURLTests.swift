import HeadgateRedis
import Testing

@Suite struct RedisURLTests {
  @Test(
    "URLs that are no servers are refused with a reason",
    arguments: [
      "http://a", "redis://", "redis://a:0", "redis://a/x", "rediss://a", "unix:", "redis://u@a", "redis://u:%zz@a",
    ])
  func mistakes(text: String) {
    #expect(throws: RedisError.self) { try RedisCoordinator(text) }
  }

  @Test("A URL's description has no password")
  func description() throws {
    #expect(try RedisURL("redis://u:p%40w@h:7/2").description == "redis://h:7/2")
    #expect(try RedisURL("redis://:pw@[::1]").description == "redis://[::1]:6379/0")
    #expect(try RedisURL("unix:/a/b.sock").description == "unix:/a/b.sock")
    #expect(throws: RedisError.self) { try RedisCoordinator("redis://a", namespace: "{x}") }
    #expect(throws: RedisError.self) { try RedisCoordinator("redis://a", lease: .milliseconds(10)) }
  }
}
