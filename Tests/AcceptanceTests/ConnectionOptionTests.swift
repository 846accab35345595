import HeadgateOrigin
import Testing

@testable import HeadgateCommand

extension AcceptanceTests {
  /// The command's options about connections, against servers of the matching kinds.
  @Suite struct ConnectionOptionTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("secret\n".utf8, to: "files/secret.txt")
    }

    @Test("--cert, --key and --pass identify the client; without them the exit status is that of an HTTP error")
    func certificate() async throws {
      let certificates = try await Certificates(in: folder)
      try await certificates.makeClient(password: "open sesame")
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here"))
          ssl_client_certificate \(certificates.authority); ssl_verify_client on;
        }
        """
      }
      let ask = [nginx.url("/secret.txt", scheme: "https"), "--cacert", certificates.authority]
      let (cert, key) = (["--cert", folder.file("client.pem")], ["--key", folder.file("client.key")])
      let locked = ["--key", folder.file("client.locked"), "--pass"]
      #expect(try await Fetched(ask, in: folder).status == 8)
      #expect(try await Fetched(ask + cert + key, in: folder).status == 0)
      #expect(try await Fetched(ask + cert + locked + ["open sesame"], in: folder).status == 0)
      #expect(try await Fetched(ask + cert + locked + ["wrong"], in: folder).status == 5)
      try folder.write("open sesame\n".utf8, to: "phrase")
      #expect(try await Fetched(ask + cert + locked + ["file:" + folder.file("phrase")], in: folder).status == 0)
      await nginx.stop()
    }

    @Test("--proxy uses a proxy, --noproxy bypasses it, and an empty --proxy ignores the environment")
    func proxy() async throws {
      let origin = try Origin()
      let proxy = try await ProxyServer(in: folder, credentials: "ada:secret")
      let through = [origin.url("/bytes/10"), "--proxy", "http://ada:secret@127.0.0.1:\(proxy.port)"]
      #expect(try await Fetched(through, in: folder).status == 0)
      #expect(proxy.entries.count == 1)
      #expect(try await Fetched(through + ["--noproxy", "h.test,127.0.0.0/8"], in: folder).status == 0)
      #expect(proxy.entries.count == 1)
      let dead = try await Fetched([origin.url("/bytes/10"), "--proxy", "127.0.0.1:1"], in: folder)
      #expect(dead.status == 4)
      #expect(dead.messages.contains("the proxy http://127.0.0.1:1 could not be reached"), "\(dead.messages)")
      let tool = try #require(Tool.headgate)
      for (arguments, status) in [([], 4), (["--proxy", ""], 0), (["--noproxy", "127.0.0.1"], 0)] as [([String], Int32)]
      {
        let run = try await Tool(
          tool, ["fetch", origin.url("/bytes/10")] + arguments,
          environment: ["http_proxy": "127.0.0.1:1", "no_proxy": "h.test"])
        #expect(run.status == status, "\(run.messages)")
      }
    }

    @Test("--unix-socket connects over the socket, with the URL's host name; redirects to that name stay on the socket")
    func unixSocket() async throws {
      let nginx = try await Nginx.start(ports: 1, in: folder) { _ in
        """
        server {
          listen unix:\(folder.file("x.sock"));
          location = /name { return 200 "$http_host$request_uri"; }
          location = /go { return 302 /name; }
          location = /away { return 302 http://127.0.0.1:1/; }
        }
        """
      }
      let socket = ["--unix-socket", folder.file("x.sock")]
      for (url, text) in [
        ("http://docker/name", "docker/name"), ("http://docker:81/name?a=b", "docker:81/name?a=b"),
        ("http://docker/go", "docker/name"),
      ] {
        let fetched = try await Fetched([url] + socket, in: folder)
        #expect(fetched.status == 0, "\(fetched.messages)")
        #expect(folder.text(of: "stdout") == text)
        #expect(fetched.byURL[url]?.endPoint == "unix:\(folder.file("x.sock"))")
      }
      let away = try await Fetched(["http://docker/away"] + socket, in: folder)
      #expect(away.status == 8)
      #expect(away.byURL["http://docker/away"]?.error == "redirect_refused", "\(away.messages)")
      let escaped = folder.file("x.sock").split(separator: "/").map { "%2F" + $0 }.joined()
      let fetched = try await Fetched(["http+unix://\(escaped)/name"], in: folder)
      #expect(fetched.status == 0)
      #expect(folder.text(of: "stdout") == "localhost/name")
      await nginx.stop()
    }

    @Test("-b sends cookies, or those of a file; --cookie-jar keeps the servers' cookies and writes them to its file")
    func cookies() async throws {
      let origin = try Origin(
        script: OriginScript { request in
          var answer = OriginAnswer.text(request.header("Cookie") ?? "none")
          answer.headers = [OriginHeader("Set-Cookie", "fresh=1; Path=/")]
          return answer
        })
      let url = origin.url("/")
      func text(_ arguments: String...) async throws -> String? {
        let fetched = try await Fetched([url] + arguments, in: folder)
        #expect(fetched.status == 0, "\(fetched.messages)")
        return folder.text(of: "stdout")
      }
      #expect(try await text() == "none")
      #expect(try await text("-b", "a=b; c=d") == "a=b; c=d")
      #expect(try await text("-b", "a=b", "-b", "c=d") == "a=b; c=d")
      #expect(try await text("--cookie-jar", "@/jar") == "none")
      #expect(folder.text(of: "jar")?.hasPrefix("# Netscape HTTP Cookie File\n") == true)
      #expect(try await text("-b", folder.file("jar")) == "fresh=1")
      await #expect(throws: FetchProblem.self) { try await Fetched([url, "-b", folder.file("none")], in: folder) }
    }
  }
}
