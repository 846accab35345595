import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateGate

@testable import HeadgateCommand
@testable import HeadgateReport

/// Rows of `headgate call`, as NDJSON and as CSV: a row is read back from its own text, and no row changes more of a
/// request than its template allows.
func fuzzRows(_ bytes: UnsafeRawBufferPointer) {
  let longest = 256
  let objects = readInAnyForm(bytes, NDJSONCutter(longest: longest), shown).compactMap { try? $0.value.get() }
  for object in objects {
    precondition(reread(object.text)?.text == object.text)
    precondition(reread(object.canonicalText)?.canonicalText == object.canonicalText)
    precondition(rows(object.text + "\n", NDJSONCutter()).map(\.text) == [object.text])
  }
  let table = readInAnyForm(bytes, CSVCutter(longest: longest), shown).compactMap { try? $0.value.get() }
  if let first = table.first {
    let text = csv(members(first).map(\.name)) + table.map { csv(members($0).map { $0.value.string ?? "" }) }.joined()
    precondition(rows(text, CSVCutter()).map(\.text) == table.map(\.text))
  }
  let own = bytes.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
  for row in (objects + table).prefix(8) { send(row, own) }
  let body = ResponseBody(Array(bytes), contentType: "application/json")
  if case .json(let value) = body { precondition(reread(value.text)?.text == value.text) }
  precondition(ResponseBody.base64(Array(bytes)) == Data(bytes).base64EncodedString())
}

private func shown(_ row: RawRow) -> String {
  switch row.value {
  case .success(let value): "\(row.line) \(row.size) \(value.text)"
  case .failure(let problem): "\(row.line) \(row.size) ! \(problem.message) \(row.content.digest)"
  }
}

private func reread(_ text: String) -> JSONValue? { try? JSONReader.read(Array(text.utf8)) }

private func rows(_ text: String, _ cutter: any InputCutter<RawRow>) -> [JSONValue] {
  var cutter = cutter
  return (cutter.cut(Array(text.utf8)) + cutter.finish()).compactMap { try? $0.value.get() }
}

private func members(_ row: JSONValue) -> [JSONMember] { if case .object(let members) = row { members } else { [] } }

private func csv(_ values: [String]) -> String {
  let quoted = values.map { value in
    "\"" + String(decoding: value.utf8.flatMap { $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] }, as: UTF8.self) + "\""
  }
  return quoted.joined(separator: ",") + "\n"
}

private let template = {
  guard let url = try? URLTemplate("https://a{a}.example/{a}/x{b}?q={b}"), let field = try? Template("x {a:json}{b}"),
    let body = try? JSONTemplate(#"{"a":{a},"b":["{b}",{b:url}]}"#), let name = HTTPField.Name("X-Row")
  else { fatalError("a template is refused") }
  return CallTemplate(
    url: url, headers: [(name, field)], body: .json(body), key: (try? Template("{b}")).map(KeySource.template))
}()

/// Forms requests from a row, by a template and by the row's own members.
private func send(_ row: JSONValue, _ own: String) {
  let key = RowKey(run: "", content: RowContent(row), occurrence: 0)
  precondition(RowKey(key.description) == key)
  if let request = try? template.request(row, key, FetchOptions()) {
    let parts = request.url.split(separator: "/", omittingEmptySubsequences: false)
    precondition(parts.count == 5 && parts[3] != "." && parts[3] != ".." && request.url.count { $0 == "?" } == 1)
    precondition(request.endPoint.host.hasPrefix("a") && request.endPoint.host.hasSuffix(".example"))
    precondition(request.headerFields.allSatisfy { isField($0) })
  }
  if let request = try? CallTemplate().request(row, key, FetchOptions()) {
    precondition(request.headerFields.allSatisfy { isField($0) })
  }
  if let template = try? JSONTemplate(own), let text = try? template.text(row) {
    do throws(JSONError) { _ = try JSONReader.read(Array(text.utf8)) } catch {
      // Of both the template and the row.
      precondition(error.reason.hasPrefix("nested more") || error.reason.hasPrefix("a name occurs twice"))
    }
  }
  if let template = try? URLTemplate(own) { _ = try? template.text(row) }
}
