import HTTPTypes
import HeadgateDispatch
import HeadgateReport
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// Fields of rows in URLs, bodies and header fields.
@Suite struct TemplateTests {
  private let row = row(
    #"{"id":17,"name":"Ada \"L\" & co","slash":"a/b?c#d","empty":"","dots":"..","none":null,"yes":true,"#
      + #""o":{"p":{"q":[10,{"r":"deep"}]}},"First name":"Grace","n":"12.50","x-y_z":1,"é":"ä","host":"eu"}"#)

  private static func row(_ text: String) -> JSONValue { (try? JSONReader.read(Array(text.utf8))) ?? .null }

  private func text(_ template: String) throws -> String { try Template(template).text(row) }

  private func url(_ template: String) throws -> String { try URLTemplate(template).text(row) }

  private func json(_ template: String) throws -> String { try JSONTemplate(template).text(row) }

  private func problem(_ body: () throws -> String) -> RowProblem? {
    do { _ = try body() } catch { return error as? RowProblem }
    return nil
  }

  @Test func `Fields are inserted by name, by path and by index`() throws {
    #expect(try text("a {id} b {yes}{x-y_z}") == "a 17 b true1")
    #expect(try text(#"{o.p.q.0} {o.p.q.1.r} {"First name"} {"é"} {o."p".q.0}"#) == "10 deep Grace ä 10")
    #expect(
      try text("{name}|{name:url}|{o.p:json}|{n:json}")
        == #"Ada "L" & co|Ada%20%22L%22%20%26%20co|{"q":[10,{"r":"deep"}]}|12.50"#)
  }

  @Test func `Braces that are not fields are literal`() throws {
    for literal in [
      "{}", "{", "}", "{ id }", "{1}", "{id", "{a b}", #"{"a":1}"#, #"{"a":true}"#, "}}", "{-a}", "{.id}", "{id.}",
    ] {
      #expect(try text(literal) == literal, "\(literal)")
    }
    #expect(try text("{{id}") == "{id}")
    #expect(try text("{{{id}") == "{17")
    #expect(try text("{{{{id}") == "{{id}")
    #expect(throws: OptionError.self) { _ = try Template("{id:josn}") }
    #expect(throws: OptionError.self) { _ = try Template("{id:plain}") }
  }

  @Test func `A field that is missing, null or not text is an error that names it`() {
    #expect(problem { try text("{nope}") } == RowProblem(code: "missing_field", message: "the row has no field nope"))
    #expect(problem { try text("{o.p.x.0}") }?.message == "the row has no field o.p.x.0")
    #expect(problem { try text("{o.p.q.2}") }?.message == "the row has no field o.p.q.2")
    #expect(problem { try text("{id.x}") }?.message == "the row has no field id.x")
    #expect(problem { try text("{none}") } == RowProblem(code: "missing_field", message: "the field none is null"))
    #expect(problem { try text("{o}") }?.message == "the field o is an object, not text; write {o:json}")
    #expect(problem { try text("{name:json}") }?.code == "invalid_row")
  }

  @Test func `The fields of a URL stay within their part of it`() throws {
    #expect(
      try url("http://h/{id}/x/{slash}?q={slash}&r={empty}#{name}")
        == "http://h/17/x/a%2Fb%3Fc%23d?q=a%2Fb%3Fc%23d&r=#Ada%20%22L%22%20%26%20co")
    #expect(try url("http://{host}.example.com:80/{slash:url}") == "http://eu.example.com:80/a%2Fb%3Fc%23d")
    #expect(try url("http://h/{id}?d={dots}") == "http://h/17?d=..")
    #expect(problem { try url("http://{slash}/x") }?.code == "invalid_url")
    #expect(problem { try url("http://h:{slash}/x") }?.code == "invalid_url")
    #expect(
      problem { try url("http://h/{dots}/x") }?.message == "the field dots is \"..\", which would lead to another path")
    #expect(
      problem { try url("http://h/items/{empty}") }?.message
        == "the field empty is part of the path and must not be empty")
    // The field at the start of the URL contains its scheme and host.
    let base = Self.row(#"{"base":"http://h:1/a","id":"x/y"}"#)
    #expect(try URLTemplate("{base}/b/{id}").text(base) == "http://h:1/a/b/x%2Fy")
    for bad in ["http://h/{id", "http://h/id}", "http://h/{a b}", "http://h/{{id}", "http://h/{1}"] {
      #expect(throws: OptionError.self, "\(bad)") { _ = try URLTemplate(bad) }
    }
  }

  @Test func `JSON has values in the positions of values, and text in strings`() throws {
    #expect(
      try json(#"{"a":{id},"b":{name},"c":"<{name}> {id}","d":{"e":{none}},"f":[{o},{n},{n:json},{n:url}]}"#)
        == #"{"a":17,"b":"Ada \"L\" & co","c":"<Ada \"L\" & co> 17","d":{"e":null},"#
        + #""f":[{"p":{"q":[10,{"r":"deep"}]}},"12.50",12.50,"12.50"]}"#)
    #expect(try json(#"{"{id}":"\"{id}\\"}"#) == #"{"17":"\"17\\"}"#)
    #expect(try json("{id}") == "17")
    // Compared by bytes: a quotation mark with a following combining mark is one character.
    let marked = Self.row(#"{"text":"\u0301x"}"#)
    #expect(Array(try JSONTemplate(#"{"a":"{text}"}"#).text(marked).utf8) == Array("{\"a\":\"\u{301}x\"}".utf8))
    #expect(try json(#""{{id}""#) == #""{id}""#)
    for bad in ["{\"a\":{{id}}}", "{\"a\":{id}", "{'a':{id}}", "{\"a\":{id:josn}}", "", "{id} {id}", "{\"a\":{1}}"] {
      #expect(throws: OptionError.self, "\(bad)") { _ = try JSONTemplate(bad) }
    }
  }

  @Test func `No text in a row changes a request beyond its field`() throws {
    var random = SeededRandom(seed: 7)
    let parts = [
      "\"", "\\", "{", "}", ",", "\n", "\r\n", "\u{0}", "\u{2028}", "/", "..", "?", "#", "%", "@", ":", "a", "é",
      "{id}", "&",
    ]
    let template = try JSONTemplate(#"{"a":{x},"b":["-{x}-",{"c":1}]}"#)
    let address = try URLTemplate("http://h.example/v1/{x}/end?q={x}&r=1")
    for _ in 0..<500 {
      let text = (0..<Int.random(in: 1...6, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      let row = JSONValue.object([JSONMember(name: "x", value: .string(text))])
      let made = try JSONReader.read(Array(try template.text(row).utf8))
      guard case .string(let a)? = made["a"], case .array(let b)? = made["b"], case .string(let c) = b[0] else {
        Issue.record("another structure")
        continue
      }
      #expect(a.utf8.elementsEqual(text.utf8) && c.utf8.elementsEqual("-\(text)-".utf8) && b[1].text == "{\"c\":1}")
      guard let url = try? address.text(row) else {
        #expect(text == "..")
        continue
      }
      let request = try DispatchRequest(url)
      #expect(request.url.hasPrefix("http://h.example/v1/") && request.url.hasSuffix("&r=1"))
      #expect(request.url.split(separator: "/", omittingEmptySubsequences: false).count == 6)
      #expect(request.url.count { $0 == "?" } == 1 && !request.url.contains("#"))
    }
  }

  @Test func `A path is read with or without a leading dot`() throws {
    #expect(try FieldPath(".usage.total_tokens").names == ["usage", "total_tokens"])
    #expect(try FieldPath(#"a."b c".0"#).names == ["a", "b c", "0"])
    for bad in ["", ".", "a.", "a b", "a..b", "\"a"] { #expect(throws: OptionError.self) { _ = try FieldPath(bad) } }
  }

  @Test func `Weights are numbers in a field, rounded up`() throws {
    let rule = try WeightRule("o.tokens=90000/min")
    #expect(rule.budget.units == 90_000 && rule.budget.window == .seconds(60))
    #expect(try rule.weight(of: Self.row(#"{"o":{"tokens":12.1}}"#)) == 13)
    #expect(try rule.weight(of: Self.row(#"{"o":{"tokens":"7"}}"#)) == 7)
    for bad in [
      #"{"o":{}}"#, #"{"o":{"tokens":-1}}"#, #"{"o":{"tokens":"x"}}"#, #"{"o":{"tokens":1e99}}"#,
      #"{"o":{"tokens":null}}"#,
    ] {
      #expect(throws: RowProblem.self) { _ = try rule.weight(of: Self.row(bad)) }
    }
    for bad in ["tokens", "tokens=1", "tokens=x/min", "tokens=1/week", "=1/s", "tokens=0/s", "a b=1/s"] {
      #expect(throws: OptionError.self, "\(bad)") { _ = try WeightRule(bad) }
    }
  }
}
