import HeadgateDispatch
import Testing

@Suite struct AddressScopeTests {
  @Test(
    "addresses that are not reachable from the public Internet are private",
    arguments: [
      "10.0.0.0", "10.255.255.255", "127.0.0.1", "127.255.0.9", "169.254.169.254", "100.64.0.1", "100.127.255.255",
      "192.168.0.1", "172.16.0.1", "172.31.255.255", "0.0.0.0", "192.0.2.1", "198.18.0.1", "198.19.255.255",
      "198.51.100.7",
      "203.0.113.9", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "192.0.0.8",
      "::", "::1", "fe80::1", "fe80::1%2", "febf::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1",
      "::ffff:127.0.0.1",
      "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:0a00:0001::", "2002:7f00:1::1",
      "2001:db8::1", "3fff:fff::1", "2001::1", "2001:1ff::1", "100::1", "4000::1", "::fffe:8.8.8.8",
    ])
  func isPrivate(address: String) { #expect(AddressScope.isPrivate(address) == true) }

  @Test(
    "addresses on the public Internet are public",
    arguments: [
      "8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "169.253.0.1",
      "192.169.0.1",
      "11.0.0.1", "126.255.255.255", "128.0.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "192.0.1.1",
      "2606:4700::", "2606:4700:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:0808:0808::1",
      "2001:4860:4860::8888", "2001:200::1", "3fff:1000::1",
    ])
  func isPublic(address: String) { #expect(AddressScope.isPrivate(address) == false) }

  @Test(
    "a text that is not an address is neither private nor public",
    arguments: ["", "localhost", "127.1", "256.1.1.1", "[::1]", "::g", "1.2.3.4.5", "10.0.0.1:80", "0x7f000001"])
  func neither(text: String) { #expect(AddressScope.isPrivate(text) == nil) }
}
