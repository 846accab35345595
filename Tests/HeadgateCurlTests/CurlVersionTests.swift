import HeadgateDispatch
import Testing

@testable import HeadgateCurl

/// Which versions of libcurl the transport accepts.
@Suite struct CurlVersionTests {
  @Test(
    "a libcurl that would break a promise is refused, with its version",
    arguments: [(0x07_4F_01, "7.79.1"), (0x08_10_00, "8.16.0")])
  func refused(version: Int, name: String) {
    let error = #expect(throws: DispatchError.self) { try CurlVersion.check(version) }
    #expect(error?.code == .transportFailed && error?.detail.hasPrefix("libcurl \(name) ") == true)
  }

  @Test(
    "the loaded one and the others are accepted", arguments: [CurlVersion.loaded, 0x07_50_00, 0x08_0F_00, 0x08_11_00])
  func accepted(version: Int) throws { try CurlVersion.check(version) }
}
