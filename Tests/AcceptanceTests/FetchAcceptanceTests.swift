import Foundation
import HeadgateThreads
import Testing

/// The expected outcome of one line of a list.
private struct Expectation {
  /// The URL in the record.
  var url: String
  var status: Int?
  var error: String?
  var bytes: Int?
  /// The file's content; nil: no file.
  var content: [UInt8]?
  /// Its name, to which a number may be added if several lines have the same one.
  var name = ""
  var finalURL: String?
  var port: Int?
}

extension AcceptanceTests {
  /// Lists against nginx and Python's http.server.
  @Suite struct FetchAcceptanceTests {
    private let folder: TemporaryFolder
    /// No server listens on these ports, and only the system's own servers may.
    private let deadPort = 1

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("missing\n".utf8, to: "files/missing.txt")
      try folder.write("same\n".utf8, to: "files/same.txt")
      try folder.write("index\n".utf8, to: "files/folder/index.html")
    }

    private func startNginx() async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]);
          error_page 404 500 /missing.txt;
          index index.html;
          location ~ "^/go/([0-9]+)/(.*)$" { return 302 http://127.0.0.1:$1/$2; }
          location /loop { return 302 $request_uri; }
          location /away { return 302 ftp://127.0.0.1/; }
          location /broken { return 500; }
          location /nothing { return 204; }
        }
        """
      }
    }

    private func content(_ index: Int) -> [UInt8] {
      let size = index % 100 == 3 ? 300_000 : index * 37 % 5_000
      return (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
    }

    @Test(
      """
      A list of 1,000 lines against nginx and Python's http.server, with 404s, redirects between them, bad lines, a \
      slow host and a dead one, ends with the right file, record and exit status for each line
      """)
    func list() async throws {
      for index in 0..<1_000 { try folder.write(content(index), to: "files/\(index).bin") }
      let nginx = try await startNginx()
      let python = try await PythonServer(in: folder, files: "files")
      let slow = try await PythonServer(in: folder, files: "files")
      let (near, far) = (nginx.ports[0], python.port)

      var list: [UInt8] = []
      var expectations: [Expectation] = []
      func add(_ line: String, _ expectation: Expectation? = nil) {
        list += Array(line.utf8) + [UInt8(ascii: "\n")]
        if var expectation {
          if expectation.url.isEmpty { expectation.url = line }
          expectations.append(expectation)
        }
      }
      func stored(_ line: String, _ content: [UInt8], name: String, at final: String? = nil, _ port: Int) {
        add(
          line,
          Expectation(
            url: "", status: 200, bytes: content.count, content: content, name: name, finalURL: final ?? line,
            port: port))
      }
      func whole(_ index: Int, _ line: String, at final: String? = nil, _ port: Int) {
        stored(line, content(index), name: "\(index).bin", at: final, port)
      }
      func refused(_ line: String, _ status: Int, _ bytes: Int, at final: String? = nil, _ port: Int) {
        add(
          line,
          Expectation(
            url: "", status: status, error: "http_error", bytes: bytes, finalURL: final ?? line, port: port))
      }
      func failed(_ line: String, _ error: String, _ port: Int?) {
        add(line, Expectation(url: "", error: error, port: port))
      }

      for index in 0..<1_000 {
        let (file, none) = ("/\(index).bin", "/none/\(index)")
        switch index % 20 {
        case 0: add(index % 40 == 0 ? "# line \(index)" : "  \t")
        case 6, 7, 8, 9: whole(index, python.url(file), far)
        case 10: whole(index, nginx.url("/go/\(far)\(file)"), at: python.url(file), far)
        case 11: whole(index, python.url("/go/\(near)\(file)"), at: nginx.url(file), near)
        case 12: whole(index, nginx.url("/go/\(far)/go/\(near)\(file)"), at: nginx.url(file), near)
        case 13: refused(nginx.url(none), 404, 8, near)
        case 14: refused(python.url(none), 404, 5, far)
        case 15: refused(nginx.url("/go/\(far)\(none)"), 404, 5, at: python.url(none), far)
        case 16:
          switch index / 20 % 5 {
          case 0: failed("line \(index)", "invalid_url", nil)
          case 1: failed("ftp://127.0.0.1:\(near)/\(index)", "invalid_url", nil)
          case 2: failed("http://127.0.0.1:99999/\(index)", "invalid_url", nil)
          case 3:
            let harmless = "http://127.0.0.1:\(near)/?\(index)"
            add("\(harmless)\u{1B}[2J", Expectation(url: "\(harmless)\\u{1B}[2J", error: "invalid_url"))
          default:
            let start = "http://127.0.0.1:\(near)/\(index)"
            list += Array(start.utf8) + [0xFF]
            add("", Expectation(url: start + "\u{FFFD}", error: "invalid_url"))
          }
        case 17: failed("http://127.0.0.1:\(deadPort)/\(index)", "connect_failed", deadPort)
        case 18: failed(python.url("/go/\(deadPort)/\(index)"), "connect_failed", deadPort)
        case 19:
          switch index / 20 {
          case 0, 10, 20, 30: failed(slow.url("/slow/\(index)"), "timed_out", slow.port)
          case 7, 17, 27, 37: failed(nginx.url("/go/\(slow.port)/slow/\(index)"), "timed_out", slow.port)
          case let turn where turn % 10 == 1: failed(nginx.url("/loop?\(index)"), "too_many_redirects", near)
          case let turn where turn % 10 == 2: failed(nginx.url("/away?\(index)"), "bad_redirect", near)
          case let turn where turn % 10 == 3:
            stored(nginx.url("/same.txt?\(index)"), Array("same\n".utf8), name: "same.txt?\(index)", near)
          case let turn where turn % 10 == 4:
            stored(python.url("/same.txt?\(index)"), Array("same\n".utf8), name: "same.txt?\(index)", far)
          case let turn where turn % 10 == 5: refused(nginx.url("/broken?\(index)"), 500, 8, near)
          case let turn where turn % 10 == 6:
            add(
              nginx.url("/nothing?\(index)"),
              Expectation(
                url: "", status: 204, bytes: 0, content: [], name: "nothing?\(index)",
                finalURL: nginx.url("/nothing?\(index)"), port: near))
          case let turn where turn % 10 == 8:
            stored(
              nginx.url("/folder?\(index)"), Array("index\n".utf8), name: "folder?\(index)",
              at: nginx.url("/folder/?\(index)"), near)
          case let turn where turn % 10 == 9:
            stored(
              python.url("/folder?\(index)"), Array("index\n".utf8), name: "folder?\(index)",
              at: python.url("/folder/?\(index)"), far)
          default: whole(index, nginx.url(file), near)
          }
        default: whole(index, nginx.url(file), near)
        }
      }
      try folder.write(list, to: "list")
      #expect(list.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).count == 1_001)

      let fetched = try await Fetched(
        ["-i", "@/list", "-P", "@/out", "--per-host", "4", "--max-time", "10", "--host-failures", "0"], in: folder)

      #expect(fetched.status == 1)
      #expect(expectations.count == 950)
      #expect(Set(fetched.byURL.keys) == Set(expectations.map(\.url)))
      for expectation in expectations { try check(expectation, fetched) }
      let stored = expectations.filter { $0.content != nil }.count
      #expect(folder.names(in: "out").count == stored)
      #expect(Set(fetched.records.compactMap(\.file)).count == stored)
      #expect(fetched.messages.contains("ok \(stored)  failed \(950 - stored)  "))
      #expect(fetched.messages.hasSuffix("peak 4/host\n"))
      // Eight lines wait for the slow host, four at once: two rounds of 10 s, less the time of a redirect.
      #expect(fetched.seconds >= 15)

      await nginx.stop()
      #expect(nginx.requests.count > 600)
      #expect(nginx.requests.allSatisfy { $0.open <= 4 })
    }

    private func check(_ expectation: Expectation, _ fetched: Fetched) throws {
      let record = try #require(fetched.byURL[expectation.url], "\(expectation.url) has no record")
      #expect(record.status == expectation.status, "\(record)")
      #expect(record.error == expectation.error, "\(record)")
      #expect(record.bytes == expectation.bytes, "\(record)")
      #expect(record.finalUrl == expectation.finalURL, "\(record)")
      #expect(record.endPoint == expectation.port.map { "127.0.0.1:\($0)" }, "\(record)")
      if let content = expectation.content {
        let path = try #require(record.file, "\(record)")
        #expect(FileManager.default.contents(atPath: path).map { Array($0) } == content, "\(record)")
        let name = folder.file("out/" + expectation.name)
        #expect(path == name || path.hasPrefix(name + ".") && Int(path.dropFirst(name.count + 1)) != nil, "\(record)")
        #expect(try #require(record.total) >= #require(record.firstByte), "\(record)")
      } else {
        #expect(record.file == nil, "\(record)")
      }
      if expectation.error == "timed_out" {
        let ran = try #require(record.total) - #require(record.queued)
        #expect(ran >= 10 && ran < 60, "\(record)")
      } else if expectation.error == "invalid_url" {
        #expect(record.total == nil, "\(record)")
        #expect(fetched.messages.contains(":\(lineNumber(expectation.url)): \""), "\(record)")
      }
    }

    /// The last number in a bad line's text is its index; lines count from 1.
    private func lineNumber(_ text: String) -> Int {
      let numbers = text.replacing("\\u{1B}[2J", with: "").split { !$0.isNumber }.compactMap { Int($0) }
      return (numbers.last ?? 0) + 1
    }
  }
}
