import Foundation

/// An HTTP proxy in Python, which also opens tunnels, records its requests, and counts the sockets to it.
final class ProxyServer: Sendable {
  /// One record.
  struct Entry {
    /// `GET http://…` or `CONNECT host:port`.
    let target: String
    /// The names of its fields, in lower case.
    let fields: [String]
    /// The sockets to the proxy that were open at that time, including this one.
    let open: Int
  }

  let port: Int
  private let process: ServerProcess
  private let folder: TemporaryFolder
  private let notes: String

  private static let script = """
    import base64, os, select, socket, sys, threading

    wanted = sys.argv[1] and "Basic " + base64.b64encode(sys.argv[1].encode()).decode()
    refused = sys.argv[2]
    notes = open(sys.argv[3], "a", buffering=1)
    lock = threading.Lock()
    opened = 0

    def relay(one, other):
      while True:
        for ready in select.select([one, other], [], [])[0]:
          data = ready.recv(65536)
          if not data: return
          (other if ready is one else one).sendall(data)

    def serve(client):
      global opened
      with lock: opened += 1
      try:
        while True:
          head = b""
          while b"\\r\\n\\r\\n" not in head:
            data = client.recv(65536)
            if not data: return
            head += data
          head, rest = head.split(b"\\r\\n\\r\\n", 1)
          lines = head.decode().split("\\r\\n")
          method, target, version = lines[0].split(" ")
          fields = [line.split(": ", 1) for line in lines[1:]]
          values = {name.lower(): value for name, value in fields}
          with lock: notes.write("%s %s|%s|%d\\n" % (method, target, ",".join(values), opened))
          if wanted and values.get("proxy-authorization") != wanted:
            client.sendall(b"HTTP/1.1 407 No\\r\\nProxy-Authenticate: Basic realm=x\\r\\nContent-Length: 0\\r\\n\\r\\n")
            continue
          if refused and refused in target:
            client.sendall(b"HTTP/1.1 403 No\\r\\nContent-Length: 0\\r\\n\\r\\n")
            continue
          host = target if method == "CONNECT" else target.split("/")[2]
          name, port = host.rsplit(":", 1)
          server = socket.create_connection((name, int(port)))
          if method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Go on\\r\\nX-Proxy: yes\\r\\n\\r\\n")
          else:
            path = "/" + target.split("/", 3)[3]
            kept = ["%s: %s" % (n, v) for n, v in fields if n.lower() not in ("proxy-authorization", "proxy-connection", "connection")]
            server.sendall("\\r\\n".join([method + " " + path + " HTTP/1.0"] + kept + ["", ""]).encode() + rest)
            answer = b""
            while True:
              data = server.recv(65536)
              if not data: break
              answer += data
            server.close()
            head, body = answer.split(b"\\r\\n\\r\\n", 1)
            lines = [l for l in head.split(b"\\r\\n") if not l.lower().startswith((b"connection", b"content-length", b"transfer-encoding"))]
            lines[0] = lines[0].replace(b"HTTP/1.0", b"HTTP/1.1")
            client.sendall(b"\\r\\n".join(lines + [b"Content-Length: %d" % len(body), b"", b""]) + body)
            continue
          relay(client, server)
          server.close()
          return
      except OSError:
        pass
      finally:
        client.close()
        with lock: opened -= 1

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print("ready", os.getpid(), listener.getsockname()[1], flush=True)
    while True:
      client, _ = listener.accept()
      threading.Thread(target=serve, args=(client,), daemon=True).start()
    """

  /// Starts it on a free port.
  ///
  /// - Parameters:
  ///   - credentials: `user:password` that it wants; empty for none.
  ///   - refuses: It refuses (403) whatever has this in its target; empty for nothing.
  init(in folder: TemporaryFolder, credentials: String = "", refuses: String = "") async throws {
    let name = "proxy-\(UUID().uuidString)"
    self.folder = folder
    notes = name + ".notes"
    try folder.write(Self.script.utf8, to: name + ".py")
    try folder.write([], to: notes)
    process = try ServerProcess(
      ["/usr/bin/env", ServerProcess.python, folder.file(name + ".py"), credentials, refuses, folder.file(notes)],
      in: folder.path,
      output: folder.file(name))
    port = try await process.waitForPort(saidIn: name, of: folder)
  }

  /// The requests so far.
  var entries: [Entry] {
    (folder.text(of: notes) ?? "").split(separator: "\n").map { line in
      let parts = line.split(separator: "|", omittingEmptySubsequences: false)
      return Entry(
        target: String(parts[0]), fields: parts[1].split(separator: ",").map { String($0) }, open: Int(parts[2]) ?? 0)
    }
  }
}
