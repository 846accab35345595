import HeadgateDispatch
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Zones of IPv6 addresses: one spelling, and only where they have a meaning.
@Suite struct EndPointZoneTests {
  #if canImport(Darwin)
  private static let loopback = "lo0"
  #else
  private static let loopback = "lo"
  #endif

  @Test("D69 an interface is the same zone by name and by index, in any spelling")
  func spellings() throws {
    let index = if_nametoindex(Self.loopback)
    try #require(index != 0)
    let zones = [Self.loopback, "\(index)", "0\(index)", "000\(index)"]
    for zone in zones {
      for host in ["fe80::1%\(zone)", "FE80:0::1%\(zone)", "[fe80::1%\(zone)]", "[fe80::1%25\(zone)]"] {
        let endPoint = try EndPoint(host: host, port: 80)
        #expect(endPoint.host == "fe80::1%\(index)")
        #expect(endPoint.description == "[fe80::1%25\(index)]:80")
      }
      let request = try DispatchRequest("http://[FE80::1%25\(zone)]:8080/a")
      #expect(request.url == "http://[fe80::1%25\(index)]:8080/a")
      #expect(try EndPoint(request.url) == request.endPoint)
    }
  }

  @Test("D69 zones distinguish link-local addresses; 0 means none")
  func apart() throws {
    let hosts = try ["fe80::1", "fe80::1%7", "fe80::1%8", "febf::1%7"].map { try EndPoint(host: $0, port: 80) }
    #expect(Set(hosts).count == 4)
    #expect(try EndPoint(host: "fe80::1%0", port: 80) == hosts[0])
  }

  @Test(
    "D69 a host is read back from its spelling, even if its index begins with 25", arguments: [2, 25, 251, 2525])
  func roundTrip(index: Int) throws {
    let endPoint = try EndPoint(host: "fe80::1%\(index)", port: 81)
    #expect(endPoint.host == "fe80::1%\(index)")
    #expect(try EndPoint(host: endPoint.host, port: 81) == endPoint)
    let request = try DispatchRequest("http://[fe80::1%25\(index)]:81/")
    #expect(request.endPoint == endPoint)
    #expect(try DispatchRequest(request.url).endPoint == endPoint)
  }

  @Test(
    "D69 a zone on any other address is refused: each number would be an end-point with its own limit",
    arguments: ["::1", "::ffff:127.0.0.1", "2001:db8::1", "fc00::1", "ff02::1", "fec0::1", "::"])
  func elsewhere(address: String) throws {
    for zone in ["1", "2", "lo"] {
      for url in ["http://[\(address)%25\(zone)]/", "http://[\(address)%25\(zone)]:81/"] {
        let error = #expect(throws: EndPointError.self) { try EndPoint(url) }
        #expect(error?.code == .invalidHost)
        #expect(error?.description.contains("link-local") == true)
        #expect(throws: DispatchError.self) { try DispatchRequest(url) }
      }
      #expect(throws: LimitError.self) { try HostPattern("[\(address)%25\(zone)]") }
    }
  }

  @Test("D69 a limit for a loopback address applies to all its spellings")
  func limit() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 99))
    limits.rules[try HostPattern("[::1]")] = try EndPointLimits(requests: 1)
    limits.rules[try HostPattern("[::ffff:127.0.0.1]:80")] = try EndPointLimits(requests: 2)
    for url in ["http://[::1]/", "http://[0:0::1]:81/"] { #expect(limits.of(try EndPoint(url)).requests == 1) }
    for url in ["http://127.0.0.1/", "http://[::FFFF:7f00:1]/", "http://127.1/"] {
      #expect(limits.of(try EndPoint(url)).requests == 2)
    }
  }

  @Test(
    "D69 an invalid zone, or one that this machine does not have, is refused",
    arguments: [
      "fe80::1%", "fe80::1%a b", "fe80::1%a%b", "fe80::1%a]", "fe80::1%no-such-one", "fe80::1%4294967296",
      "fe80::1%99999999999999999999", "[fe80::1%25]x",
    ])
  func broken(host: String) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(host: host, port: 80) }
    #expect(error?.code == .invalidHost)
  }
}
