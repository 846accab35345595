import Foundation
import Testing

#if os(Linux)
extension AcceptanceTests {
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct CommandLinkageTests {
    /// All of Foundation, with its network and its tables of Unicode, would make the installed command several times as
    /// large, and slower to start.
    @Test("The command links no more of Foundation than FoundationEssentials")
    func essentials() throws {
      let program = try Data(contentsOf: URL(fileURLWithPath: #require(Tool.headgate)), options: .alwaysMapped)
      func links(_ library: String) -> Bool { program.range(of: Data((library + "\0").utf8)) != nil }
      // Shows that names are found where they are.
      #expect(links("libFoundationEssentials.so"))
      for library in ["libFoundation.so", "libFoundationNetworking.so", "lib_FoundationICU.so"] {
        #expect(!links(library), "\(library)")
      }
    }
  }
}
#endif
