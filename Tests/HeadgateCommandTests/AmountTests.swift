import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Limits on responses and redirects, each with its error code, its class, and advice that names options.
@Suite struct AmountTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 2)
  }

  private func check(_ url: String, _ arguments: [String], _ status: Int32, _ error: String, _ texts: String...)
    async throws
  {
    for target in [["-P", "@/out"], []] {
      let fetched = try await FetchTrial([url, "--log", "@/log"] + target + arguments, in: folder).finish()
      #expect(fetched.status == status)
      #expect(fetched.records.first?.error == error)
      for text in texts { #expect(fetched.messages.contains(text), "\(fetched.messages)") }
      #expect(folder.names(in: "out").isEmpty)
    }
  }

  @Test func `A body may have the maximum size, and no more`() async throws {
    let url = origin.url("/bytes/1024")
    #expect(try await fetch(url, "--max-filesize", "1K", in: folder).output.count == 1024)
    try await check(url, ["--max-filesize", "1023"], 4, "body_too_large", "; raise --max-filesize")
  }

  @Test func `A server below the minimum speed ends the request`() async throws {
    try await check(
      origin.url("/silence"), ["--speed-limit", "1K", "--speed-time", "0.1"], 6, "too_slow", "; lower --speed-limit")
  }

  @Test func `A redirect that is not allowed is an HTTP error, which names the option that refuses it`() async throws {
    let url = origin.url("/redirect?to=\(origin.url("/bytes/1", endPoint: 1))")
    try await check(url, ["--redirects", "same-origin"], 8, "redirect_refused", "; see --redirects")
    try await check(
      url, ["--proto-redir", "=http", "--redirects", "same-origin"], 8, "redirect_refused",
      ": --redirects same-origin stays at one scheme", "; see --redirects")
    try await check(
      url, ["--proto-redir", "=https"], 8, "redirect_refused", ": --proto-redir does not allow http",
      "; see --redirects")
    #expect(origin.counts(endPoint: 1).received == 0)
  }
}
