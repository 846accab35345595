import Foundation
import HeadgateReport

/// A browser without a window.
enum Chromium {
  static let path: String? = ["chromium", "chromium-browser", "google-chrome"].lazy
    .flatMap { name in
      (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
    }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// In the complete test run a missing browser is a failure; elsewhere its tests are skipped.
  static let isExpected = path != nil || ProcessInfo.processInfo.environment["CI"] != nil

  struct Result {
    let output: String
    let messages: String
  }

  /// Opens a page and returns its final document, or writes a picture of it.
  static func open(_ page: URL, _ arguments: [String]) async throws -> Result {
    let folder = page.deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Without its sandbox, which needs rights that containers and root do not give. The page is our own.
    process.arguments =
      [
        "timeout", "-k", "10", "90", path ?? "chromium", "--headless", "--no-sandbox", "--disable-gpu",
        "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--enable-logging=stderr",
        "--user-data-dir=\(folder.appendingPathComponent("profile").path)", "--virtual-time-budget=20000",
      ] + arguments + [page.absoluteString]
    let (output, messages) = (folder.appendingPathComponent("output"), folder.appendingPathComponent("messages"))
    for file in [output, messages] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
    let handles = [try FileHandle(forWritingTo: output), try FileHandle(forWritingTo: messages)]
    process.standardOutput = handles[0]
    process.standardError = handles[1]
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in continuation.resume() }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    return Result(
      output: try String(contentsOf: output, encoding: .utf8),
      messages: try String(contentsOf: messages, encoding: .utf8))
  }
}

/// A page in a temporary folder, which is removed with it.
final class OpenedPage {
  let folder: URL
  var page: URL { folder.appendingPathComponent("report.html") }

  init(_ log: RunLog) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("headgate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(RunPage.bytes(RunSummary(log))).write(to: page)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The document after the page was drawn.
  func dom() async throws -> String { try await Chromium.open(page, ["--dump-dom"]).output }

  /// The same after a script has acted like a reader, and has stored its observations in the attribute `data-seen`. The
  /// page's policy allows no other script: this is a copy without it.
  func seen(_ script: String) async throws -> String {
    var text = try String(contentsOf: page, encoding: .utf8)
    text = text.replacing(try Regex("<meta http-equiv=\"Content-Security-Policy\"[^>]*>"), with: "")
    text = text.replacing(
      "</body>",
      with: """
        <script>
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        const type = (field, text) => { field.value = text; field.dispatchEvent(new Event('input')); };
        const press = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        (async () => { await wait(300); const seen = []; \(script); document.documentElement.dataset.seen = seen.join('|'); })()
          .catch((error) => { document.documentElement.dataset.seen = String(error); });
        </script></body>
        """)
    let copy = folder.appendingPathComponent("copy.html")
    try text.write(to: copy, atomically: true, encoding: .utf8)
    let dom = try await Chromium.open(copy, ["--dump-dom"]).output
    let match = try Regex("data-seen=\"([^\"]*)\"").firstMatch(in: dom)
    return match.flatMap { $0.output[1].substring.map(String.init) } ?? ""
  }

  /// A picture of it, as the bytes of a PNG file.
  func picture(width: Int, isDark: Bool) async throws -> Data {
    let picture = folder.appendingPathComponent("\(width)-\(isDark).png")
    let theme = isDark ? ["--blink-settings=preferredColorScheme=0"] : ["--blink-settings=preferredColorScheme=1"]
    _ = try await Chromium.open(page, ["--window-size=\(width),1600", "--screenshot=\(picture.path)"] + theme)
    return try Data(contentsOf: picture)
  }
}
