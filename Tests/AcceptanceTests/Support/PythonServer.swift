import Foundation
import HeadgateThreads

/// Python's http.server with its own handler for files, which also redirects and responds slowly, depending on the
/// path.
final class PythonServer: Sendable {
  let port: Int
  private let process: ServerProcess

  private static let script = """
    import http.server, os, time

    class Handler(http.server.SimpleHTTPRequestHandler):
      error_message_format = "gone\\n"

      def do_GET(self):
        parts = self.path.split("/", 3)
        if parts[1] == "go":
          self.send_response(302)
          self.send_header("Location", "http://127.0.0.1:" + parts[2] + "/" + parts[3])
          self.send_header("Content-Length", "0")
          self.end_headers()
        elif parts[1] == "slow":
          time.sleep(100)
        else:
          super().do_GET()

      def log_message(self, *arguments):
        pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print("ready", os.getpid(), server.server_port, flush=True)
    server.serve_forever()
    """

  /// Starts it on a free port. It serves the files of a folder.
  init(in folder: TemporaryFolder, files: String) async throws {
    let name = "python-\(UUID().uuidString)"
    try folder.write(Self.script.utf8, to: name + ".py")
    process = try ServerProcess(
      ["/usr/bin/env", ServerProcess.python, folder.file(name + ".py")], in: folder.file(files),
      output: folder.file(name))
    port = try await process.waitForPort(saidIn: name, of: folder)
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
