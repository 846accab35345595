import Foundation
import HeadgateTesting
import Testing

@testable import HeadgateCommand

@Suite struct NetrcTests {
  private func credentials(_ text: String, for host: String = "a.example") throws -> String? {
    guard let field = try Netrc(Array(text.utf8)).authorization(for: host) else { return nil }
    let data = try #require(Data(base64Encoded: String(field.dropFirst("Basic ".count))))
    return String(decoding: data, as: UTF8.self)
  }

  @Test(arguments: [
    "machine a.example login ada password secret",
    "machine A.Example\n\tlogin ada\r\n\tpassword secret\r\n",
    "# machine a.example login x password y\nmachine a.example login ada password secret",
    "machine b.example login x password y machine a.example login ada password secret",
    "machine a.example account z login ada password secret machine a.example login x password y",
    "macdef init\nmachine a.example login x password y\n\nmachine a.example login ada password secret",
    "machine a.example login ada password secret default login x password y",
    "default login ada password secret machine a.example login x password y",
    "machine \"a.example\" login \"ada\" password \"secret\"",
    "machine a.example # login x\n login ada # password y \"\n password secret # the same as elsewhere",
    "machine a.example login ada #password y\npassword secret",
    "machine a.example. login ada password secret",
    "login x password y machine a.example unknown login ada password secret",
  ])
  func `The first entry for a host counts`(text: String) throws {
    #expect(try credentials(text) == "ada:secret")
  }

  @Test func `Quoted words have white space and escapes, others are literal`() throws {
    #expect(try credentials(#"machine a.example login "a da" password "s\"e\\c\tr\net""#) == "a da:s\"e\\c\tr\net")
    #expect(try credentials("machine a.example login a#b password #c\"d") == "a#b:#c\"d")
    #expect(try credentials(#"machine a.example login "" password x"#) == ":x")
  }

  @Test func `A host without an entry, and an empty entry, get no credentials`() throws {
    #expect(try credentials("machine b.example login x password y") == nil)
    #expect(try credentials("machine example login x password y") == nil)
    #expect(try credentials("machine a.example machine b.example login x password y") == nil)
    #expect(try credentials("machine a.example machine a.example login x default login y") == nil)
    #expect(try credentials("") == nil)
    #expect(try credentials("macdef all\nmachine a.example login x") == nil)
  }

  @Test func `With one word, the other is empty`() throws {
    #expect(try credentials("machine a.example login ada") == "ada:")
    #expect(try credentials("machine a.example password secret") == ":secret")
  }

  @Test func `Addresses are written with or without brackets`() throws {
    #expect(try credentials("machine [::1] login a password b", for: "::1") == "a:b")
    #expect(try credentials("machine ::1 login a password b", for: "::1") == "a:b")
    #expect(try credentials("machine 0:0:0:0:0:0:0:0001 login a password b", for: "::1") == "a:b")
    #expect(try credentials("machine [2001:DB8:0::1] login a password b", for: "2001:db8::1") == "a:b")
  }

  @Test func `Letters that look alike do not match`() throws {
    #expect(try credentials("machine \u{212A}.example login a password b", for: "k.example") == nil)
    #expect(try credentials("machine a\u{37E} login a password b", for: "a;") == nil)
  }

  @Test(arguments: [
    ("machine", "line 1: nothing follows the word machine"),
    ("\nmachine a login b\npassword", "line 3: nothing follows the word password"),
    ("machine a login \"b\npassword c", "line 1: a closing quotation mark is missing"),
    ("machine a login \"b\\", "line 1: a closing quotation mark is missing"),
    ("machine a login \"b\\\n\"\npassword", "line 3: nothing follows the word password"),
  ])
  func `Errors are reported by line, without its text`(text: String, message: String) {
    let error = #expect(throws: OptionError.self) { try credentials(text) }
    #expect(error?.description == message)
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `Any bytes are words, or an error that names a line`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let words: [[UInt8]] =
      ["machine", "machine x", "login", "password", "default", "macdef", "account", "\"", "\\", "\n", " ", "#", "y"]
      .map { Array($0.utf8) } + [[0xFF], [0]]
    for _ in 0..<2000 {
      var text: [UInt8] = []
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        text += try #require(words.randomElement(using: &random))
        if Bool.random(using: &random) { text.append(UInt8(ascii: " ")) }
      }
      let shown = String(decoding: text, as: UTF8.self)
      do throws(OptionError) {
        guard let field = try Netrc(text).authorization(for: "x") else { continue }
        #expect(shown.contains("login") || shown.contains("password"), "\(shown)")
        #expect(shown.contains("machine") || shown.contains("default"), "\(shown)")
        let data = Data(base64Encoded: String(field.dropFirst("Basic ".count)))
        #expect(field.hasPrefix("Basic ") && data?.contains(UInt8(ascii: ":")) == true, "\(shown)")
      } catch {
        let number = error.description.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
        #expect(error.description.hasPrefix("line \(number): "))
        #expect((1...text.count(where: { $0 == UInt8(ascii: "\n") }) + 1).contains(number), "\(shown)")
      }
    }
  }

  @Test func `The file comes from the environment, else from the home folder`() {
    #expect(NetrcFile.standard { ["NETRC": "/n", "HOME": "/h"][$0] } == "/n")
    #expect(NetrcFile.standard { ["NETRC": "", "HOME": "/h"][$0] } == "/h/.netrc")
    #expect(NetrcFile.standard { _ in nil } == nil)
  }
}
