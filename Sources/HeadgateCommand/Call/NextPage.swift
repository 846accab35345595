import HTTPTypes
import HeadgateDispatch
import HeadgateReport

/// Where a page names the next one: in its `Link` field, or in its JSON body.
enum NextPage: Hashable, Sendable {
  case link
  case body(FieldPath)

  /// Parses `link` or `body:paging.next`.
  init(_ text: String) throws(OptionError) {
    if text == "link" {
      self = .link
    } else if text.hasPrefix("body:") {
      self = .body(try FieldPath(String(text.dropFirst(5))))
    } else {
      throw OptionError("write link, or body: and the path of a field of the JSON body, such as body:paging.next")
    }
  }

  /// The text that it is parsed from, in one form.
  var text: String {
    switch self {
    case .link: "link"
    case .body(let path): "body:\(path)"
    }
  }

  /// The complete URL of the next page. Nil if there is none: the field or value is missing, null or empty.
  ///
  /// What leads to no URL is returned as it is written, and a body that should be JSON and is not gives the empty text:
  /// ``PageTrail/request(_:)`` refuses both.
  ///
  /// - Parameters:
  ///   - request: The request of the page, whose URL the next one may be relative to.
  ///   - fields: The header fields of the page.
  ///   - body: Its body.
  func url(after request: DispatchRequest, _ fields: HTTPFields, _ body: ResponseBody) -> String? {
    let reference: String?
    switch (self, body) {
    case (.link, _): reference = HTTPField.Name("Link").flatMap { LinkField.next(in: fields[values: $0]) }
    case (.body, .none): return nil
    case (.body, .text), (.body, .bytes): return ""
    case (.body(let path), .json(let root)):
      switch path.value(in: root) {
      case nil, .null?: return nil
      case .string(let text)?: reference = text
      case let other?: return other.text
      }
    }
    guard let reference, !reference.isEmpty else { return nil }
    return (try? request.target(of: reference)) ?? reference
  }
}
