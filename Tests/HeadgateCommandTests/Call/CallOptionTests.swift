import ArgumentParser
import HTTPTypes
import HeadgateDispatch
import HeadgateReport
import Testing

@testable import HeadgateCommand

/// The options of `headgate call`.
@Suite struct CallOptionTests {
  private func options(_ arguments: String...) throws -> CallOptions { try CallCommand.parse(arguments).options() }

  private func complaint(_ arguments: [String]) -> String? {
    do { _ = try CallCommand.parse(arguments).options() } catch {
      return (error as? FetchProblem)?.description ?? CallCommand.fullMessage(for: error)
    }
    return nil
  }

  @Test func `Defaults are those of the help`() throws {
    let options = try options("-i", "rows", "--url", "http://h/{id}")
    #expect(options.requests.perHost.requests == 6 && options.requests.retries == 3)
    #expect(options.requests.connectTimeout == .seconds(30) && options.requests.idleTimeout == .seconds(120))
    #expect(options.requests.maxRedirects == 0 && options.results == nil && options.session == nil)
    #expect(options.leave == CallState.Leave())
  }

  @Test func `Options take effect in the request`() throws {
    let options = try options(
      "-i", "rows", "--url", "http://h/{id}", "-X", "PATCH", "-d", "a={id}", "-H", "X-Id: <{id}>", "-H", "X: {}", "-A",
      "me",
      "--weight", "n=9/min", "--weight", "n=90/d", "--max-filesize", "1K", "--per-host", "2", "--rate", "5/s", "-o",
      "-",
      "--retry", "2", "--retry-unsafe")
    let row = try JSONReader.read(Array("{\"id\":1,\"n\":3}".utf8))
    let request = try options.request(row, RowKey(run: "", content: RowContent(row), occurrence: 0))
    #expect(request.url == "http://h/1" && request.method == .patch)
    #expect(request.body?.bytes == Array("a=1".utf8))
    #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
    #expect(
      request.headerFields[HTTPField.Name("X-Id")!] == "<1>" && request.headerFields[HTTPField.Name("X")!] == "{}")
    #expect(request.headerFields[.userAgent] == "me")
    #expect(request.weights == ["n per min": 3, "n per d": 3])
    #expect(request.maxDownloadBytes == 1024 && request.maxBodyBytes == 1024)
    #expect(request.retry?.attempts == 3 && request.retry?.repeats == .all)
    #expect(options.requests.perHost.budgets.map(\.units) == [9, 90] && options.requests.perHost.rates.count == 1)
    #expect(options.results == nil)
  }

  @Test func `An idempotency key from the options replaces the row's own`() throws {
    let options = try options("-i", "rows", "--idempotency-key", "order-{id}")
    let row = try JSONReader.read(
      Array(#"{"url":"http://h/","method":"POST","headers":{"Idempotency-Key":"a"},"id":7}"#.utf8))
    let request = try options.request(row, RowKey(run: "", content: RowContent(row), occurrence: 0))
    #expect(request.headerFields[HTTPField.Name("Idempotency-Key")!] == "order-7")
  }

  @Test func `Spaces around the names of response fields are ignored`() throws {
    let options = try options("-i", "rows", "--url", "http://h/", "--response-fields", "ETag, X-A ,etag")
    #expect(options.responseFields.map(\.rawName) == ["ETag", "X-A"])
  }

  @Test func `The lines of a file for --data are joined, and those of one for --json are not`() throws {
    let folder = try TemporaryFolder()
    try folder.write("a={id}\r\n&b=2\n", to: "form")
    try folder.write("{\n\"a\": {id}\n}\n", to: "json")
    let row = try JSONReader.read(Array("{\"id\":1}".utf8))
    func body(_ option: String, _ file: String) throws -> String {
      let options = try options("-i", "rows", "--url", "http://h/", option, "@" + folder.file(file))
      let request = try options.request(row, RowKey(run: "", content: RowContent(row), occurrence: 0))
      return String(decoding: request.body?.bytes ?? [], as: UTF8.self)
    }
    #expect(try body("--data", "form") == "a=1&b=2")
    #expect(try body("--json", "json").contains("\n"))
  }

  @Test func `A session depends on the options that determine requests, and not on header fields and limits`() throws {
    func digest(_ more: String...) throws -> String {
      try CallCommand.parse(["-i", "r", "-o", "o", "--session", "s"] + more).options().requestsDigest
    }
    let plain = try digest("--url", "http://h/")
    #expect(try digest("--url", "http://h/", "-H", "A: b", "--per-host", "3", "--retry", "4") == plain)
    let others = [
      try digest("--url", "http://h/x"), try digest("--url", "http://h/", "-X", "PUT"), try digest(),
      try digest("--url", "http://h/", "--json", "1"), try digest("--url", "http://h/", "-d", "1"),
      try digest("--url", "http://h/", "-d", ""), try digest("--url", "http://h/", "--idempotency-key", "auto"),
      try digest("--url", "http://h/", "--idempotency-key", "{id}"), plain,
    ]
    #expect(Set(others).count == others.count)
  }

  @Test(arguments: [
    (["--url", "http://h/"], "there are no rows: give a file with -i FILE"),
    (["-i", "r", "--url", "/x/{id}"], "--url, with 1 for each field: \"/x/1\" has no scheme"),
    (["-i", "r", "--url", "http://h/{id"], "a brace is not part of a field"),
    (["-i", "r", "--json", "{a}}"], "--json: it is not JSON"),
    (["-i", "r", "--json", "1", "-d", "1"], "--json and --data can't be combined"),
    (["-i", "r", "-T", "{a}", "-d", "1", "--files-from", "/"], "--data and -T can't be combined"),
    (["-i", "r", "-T", "{a}", "-F", "a=1", "--files-from", "/"], "-T and -F can't be combined"),
    (["-i", "r", "-T", "{a}"], "give --files-from DIR"),
    (["-i", "r", "-F", "a=@{a}"], "give --files-from DIR"),
    (["-i", "r", "-F", "a=1", "--files-from", "/"], "give -T PATH or -F NAME=@PATH too"),
    (["-i", "r", "-T", "../a", "--files-from", "/"], "write their paths from there, without .."),
    (["-i", "r", "-F", "a=@/{a}", "--files-from", "/"], "write their paths from there, without .."),
    (["-i", "r", "-F", "a"], "write name=text with {field}"),
    (["-i", "r", "-F", "=a"], "write name=text with {field}"),
    (["-i", "r", "-T", "{a:b}", "--files-from", "/"], "there is no form b"),
    (["-i", "r", "-T", "{a}", "--files-from", "/none"], "the folder /none of --files-from can't be opened"),
    (["-i", "r", "-P", "out"], "give --save TEMPLATE too"),
    (["-i", "r", "--save", "{a}", "-P", ""], "-P needs the name of a folder"),
    (["-i", "r", "--save", "-"], "bodies are in the results without it"),
    (["-i", "r", "--save", "../{a}"], "it must not contain ..; give the folder with -P"),
    (["-i", "r", "--save", "/out/{a}"], "give the folder with -P /…"),
    (["-i", "r", "--save", "{a}/"], "it names a folder and no file"),
    (["-i", "r", "--save", "{a}", "--weight", "n=1/s", "--settle", "m"], "--settle reads bodies that --save writes"),
    (["-i", "r", "-d", "{a:b}"], "--data: there is no form b"),
    (["-i", "r", "-d", "@-"], "--data: @- is not supported here"),
    (["-i", "r", "--json", "@-"], "--json: @- is not supported here"),
    (["-i", "r", "-d", "@/none"], "--data: the file /none can't be read"),
    (["-i", "r", "-H", "A: {a:b}"], "-H A: there is no form b"),
    (["-i", "r", "-X", "A B"], "write a method, such as POST"),
    (["-i", "r", "--session", "s"], "--session needs a results file"),
    (["-i", "r", "--session", "s", "-o", "-"], "--session needs a results file"),
    (["-i", "r", "--session", "s", "-o", "s"], "--session and -o must be different files"),
    (["-i", "r", "--session", "", "-o", "o"], "--session needs the name of a file."),
    (["-i", "r", "--session", "-", "-o", "o"], "--session needs the name of a file; - has no meaning here"),
    (["-i", "r", "--cookie-jar", "-"], "--cookie-jar needs the name of a file; - has no meaning here"),
    (["-i", "r", "-o", ""], "-o needs the name of a file; - is standard output."),
    (["-i", ""], "-i needs the name of a file; - is standard input."),
    (["-i", "r", "--retry-failed"], "give --session FILE too"),
    (["-i", "r", "--retry", "0", "--retry-unsafe"], "give --retry N or --session FILE too"),
    (["-i", "r", "--idempotency-key", "k"], "all rows would have the same key"),
    (["-i", "r", "--idempotency-key", "{a:b}"], "--idempotency-key: there is no form b"),
    (["-i", "r", "--weight", "n"], "such as max_tokens=90000/min"),
    (["-i", "r", "--weight", "n=1/s", "--weight", "n=2/s"], "--weight is given twice"),
    (["-i", "r", "--settle", "n"], "give --weight for one field too"),
    (["-i", "r", "--weight", "n=1/s", "--weight", "m=2/s", "--settle", "n"], "give --weight for one field too"),
    (["-i", "r", "--response-fields", "a b:"], "write names of header fields"),
    (["-i", "r", "--response-fields", "Content Type"], "write names of header fields"),
    (["-i", "-", "-i", "-"], "give -i - once"),
    (["-i", "r", "-q", "-v"], "-q and -v can't be combined"),
  ])
  func `Misuse is reported before anything is sent`(arguments: [String], message: String) {
    #expect(complaint(arguments)?.contains(message) == true, "\(complaint(arguments) ?? "nothing")")
  }
}
