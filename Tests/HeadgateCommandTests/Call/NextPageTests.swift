import HTTPTypes
import HeadgateDispatch
import HeadgateReport
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// Where pages name the next one, and what results say of it.
@Suite struct NextPageTests {
  @Test(
    arguments: [
      (["</b>; rel=\"next\""], "/b"),
      (["</b>;rel=next"], "/b"),
      (["</b>; REL=NEXT"], "/b"),
      (["</a>; rel=prev, </b>; rel=next"], "/b"),
      (["</a>; rel=prev", "</b>; rel=next"], "/b"),
      (["</b,c;d>; rel=next"], "/b,c;d"),
      (["</a>; title=\"x, <\\\">; rel=next\"; rel=prev, </b>; rel=\"last  next\""], "/b"),
      (["</b>; title=x; rel = \"next\""], "/b"),
      ([" , </b> ; rel=next,"], "/b"),
      (["nonsense, </b>; rel=next"], "/b"),
      (["</b>; rel=next, </c>; rel=next"], "/b"),
      (["</b>; crossorigin; rel=next"], "/b"),
      (["<>; rel=next"], ""),
      // Of several relations the first counts.
      (["</a>; rel=prev; rel=next"], nil),
      // About another page.
      (["</a>; rel=next; anchor=\"/c\""], nil),
      (["</a>; rel=nextish, </b>; rel=\"x-next\", </c>"], nil),
      (["</a>; title=\"rel=next\""], nil),
      (["</b; rel=next"], nil),
      (["</a>; rel=\"next"], "/a"),
      (["/b; rel=next"], nil),
      (["", ",;,"], nil),
      ([], nil),
    ] as [([String], String?)])
  func `The first link with the relation next is found`(fields: [String], target: String?) {
    #expect(LinkField.next(in: fields) == target)
  }

  @Test func `Any text is read to its end`() {
    var random = SeededRandom(seed: 39)
    let pieces = ["<", ">", ";", ",", "=", "\"", "\\", " ", "\t", "rel", "next", "anchor", "/a", "é"]
    for _ in 0..<5_000 {
      let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined()
      // Whatever it is, a link after it in a field of its own is found, unless it has one itself.
      let own = LinkField.next(in: [text])
      #expect(LinkField.next(in: [text, "</b>; rel=next"]) == own ?? "/b", "\(text)")
    }
  }

  @Test(
    arguments: [
      ("a.b", "{\"a\":{\"b\":\"/x?p=2\"}}", "http://h/x?p=2"),
      ("a.b", "{\"a\":{\"b\":\"x\"}}", "http://h/items/x"),
      ("a.b", "{\"a\":{\"b\":\"?p=2\"}}", "http://h/items/all?p=2"),
      ("a.b", "{\"a\":{\"b\":\"//h/x#y\"}}", "http://h/x"),
      ("a.b", "{\"a\":{\"b\":\"HTTP://H:80/a b\"}}", "http://h/a%20b"),
      ("a.b", "{\"a\":{\"b\":\"http://u:p@g/\"}}", "http://g/"),
      ("links.0.href", "{\"links\":[{\"href\":\"/x\"}]}", "http://h/x"),
      (".\"next page\"", "{\"next page\":\"/x\"}", "http://h/x"),
      ("a.b", "{\"a\":{\"b\":\"\"}}", nil),
      ("a.b", "{\"a\":{\"b\":null}}", nil),
      ("a.b", "{\"a\":{}}", nil),
      ("a.b", "{\"a\":null}", nil),
      ("a.b", "{\"a\":[1]}", nil),
      ("a.b", "[]", nil),
      ("a.b", "", nil),
      ("a.b", "{\"a\":{\"b\":false}}", "false"),
      ("a.b", "{\"a\":{\"b\":{\"href\":\"/x\"}}}", "{\"href\":\"/x\"}"),
      ("a.b", "{\"a\":{\"b\":\"ftp://h/\"}}", "ftp://h/"),
      ("a.b", "<html>", ""),
    ] as [(String, String, String?)])
  func `A path in the body leads to a complete URL`(path: String, body: String, url: String?) throws {
    let next = try NextPage("body:" + path)
    let request = try DispatchRequest("http://h/items/all?p=1")
    let body = ResponseBody(Array(body.utf8), contentType: "application/json")
    #expect(next.url(after: request, [:], body) == url)
  }

  @Test func `A page and its successor are read back from the line, whatever the URL`() {
    let key = RowKey(run: "r", content: RowContent(.null), occurrence: 0)
    for next in [nil, "http://h/?a=1", "", "{\"a\":\"\\\"}\n", "\\", "é\u{0}"] as [String?] {
      for (outcome, error) in [(CallOutcome.ok, nil), (.failed, "http_error")] as [(CallOutcome, String?)] {
        let result = ResultLine(key: key, outcome: outcome, error: error, page: 12, next: next)
        var line = JSONLine()
        result.add(to: &line)
        line.add("message", "\",\"page\":1")
        let bytes = Array(line.line.utf8)
        #expect(ResultLine(bytes.dropLast()) == result)
      }
    }
    for end in [
      "\"page\":0,\"next\":null}", "\"page\":99999999999999999999}", "\"page\":}", "\"page\":2,\"next\":\"a}",
    ] {
      let line = "{\"key\":\"\(key)\",\"outcome\":\"ok\",\"error\":null," + end
      #expect(ResultLine(Array(line.utf8)[...]).map { $0.next == nil } == true, "\(end)")
    }
  }

  @Test func `A row goes on after the last of its pages that is written`() {
    let key = RowKey(run: "r", content: RowContent(.null), occurrence: 0)
    for seed in 0..<200 {
      var (state, random) = (CallState(), SeededRandom(seed: UInt64(seed)))
      var (page, trail, results, hasFailed) = (1, PageTrail?.none, 0, false)
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        results += 1
        hasFailed = Int.random(in: 0..<4, using: &random) == 0
        guard !hasFailed else {
          state.apply(ResultLine(key: key, outcome: .failed, error: "x", page: page))
          continue
        }
        let next = "http://h/?page=\(page + 1)"
        state.apply(ResultLine(key: key, outcome: .ok, error: nil, page: page, next: next))
        if trail == nil { trail = PageTrail(page, next: next) } else { trail?.add(page, next: next) }
        page += 1
      }
      func plan(failed: Bool = false, most: Int? = nil) -> CallState.Plan {
        state.plan(key, CallState.Leave(retriesFailed: failed, maxPages: most))
      }
      let goesOn = trail.map { CallState.Plan.goOn($0) } ?? .send(results: results)
      #expect(plan(failed: true) == goesOn && plan(failed: true).page == page)
      #expect(plan() == (hasFailed ? .before(.failed, error: "x") : goesOn))
      if trail != nil {
        #expect(plan(failed: true, most: page) == goesOn && plan(failed: true, most: page - 1) == .complete)
      }
      state.apply(ResultLine(key: key, outcome: .ok, error: nil, page: page))
      #expect(plan() == .complete && plan(failed: true) == .complete)
    }
  }

  @Test func `The next page is a GET at the same origin, once`() throws {
    var first = try DispatchRequest("http://h/a")
    first.method = .post
    first.body = RequestBody("x")
    var trail = PageTrail(1, next: "http://h/a?2")
    #expect(try trail.request(first).url == "http://h/a?2")
    trail.add(2, next: "http://h/a?3")
    let page = try trail.request(first)
    #expect(page.url == "http://h/a?3" && page.method == .get && page.body == nil)
    for (next, code) in [
      ("http://h/a", "page_loop"), ("http://h/a?2", "page_loop"), ("http://h/a?3", "page_loop"),
      ("http://g/a", "page_elsewhere"), ("https://h:80/a", "page_elsewhere"), ("/a?4", "invalid_page"),
      ("", "invalid_page"),
    ] {
      var trail = trail
      trail.add(3, next: next)
      let problem = #expect(throws: RowProblem.self) { try trail.request(first) }
      #expect(problem?.code == code, "\(next)")
    }
  }
}
