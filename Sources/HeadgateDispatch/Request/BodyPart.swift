import HTTPTypes

/// One part of a form: a name with a text, bytes or a file. See ``RequestBody/init(multipart:canBeSentAgain:)``.
public struct BodyPart: Sendable {
  enum Content: Sendable {
    case bytes([UInt8])
    case file(BodyPlace)
  }

  let head: [UInt8]
  let content: Content

  /// Creates a part with a text.
  ///
  /// - Parameters:
  ///   - name: The name of the form's field.
  ///   - value: The text, sent as UTF-8.
  public init(_ name: String, _ value: String) { self.init(name, nil, nil, .bytes(Array(value.utf8))) }

  /// Creates a part with bytes.
  ///
  /// - Parameters:
  ///   - name: The name of the form's field.
  ///   - bytes: The bytes.
  ///   - fileName: The file name to send; nil for none. Most servers treat a part with a file name as a file.
  ///   - contentType: The media type; nil for none. Line breaks in it become spaces.
  public init(_ name: String, bytes: [UInt8], fileName: String? = nil, contentType: String? = nil) {
    self.init(name, fileName, contentType, .bytes(bytes))
  }

  /// Creates a part with a file. The file is looked at when the request runs, opened when its turn comes, and read
  /// piece by piece.
  ///
  /// - Parameters:
  ///   - name: The name of the form's field.
  ///   - path: The file.
  ///   - fileName: The file name to send; nil for the last part of the path.
  ///   - contentType: The media type.
  public init(
    _ name: String, file path: String, fileName: String? = nil, contentType: String = "application/octet-stream"
  ) {
    self.init(name, fileName ?? Self.lastName(path), contentType, .file(.path(path)))
  }

  /// Creates a part with a file below a folder.
  package init(
    _ name: String, file path: String, below folder: FileFolder, fileName: String? = nil,
    contentType: String = "application/octet-stream"
  ) {
    self.init(name, fileName ?? Self.lastName(path), contentType, .file(.below(folder, path)))
  }

  private static func lastName(_ path: String) -> String {
    // By scalars: a combining mark after a slash would hide it.
    path.unicodeScalars.split(separator: "/").last.map { String($0) } ?? path
  }

  private init(_ name: String, _ fileName: String?, _ contentType: String?, _ content: Content) {
    var head = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
    if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
    // A field's value holds no line breaks: others would begin a field, or the content.
    if let contentType { head += "\r\nContent-Type: \(HTTPField(name: .contentType, value: contentType).value)" }
    self.head = Array("\(head)\r\n\r\n".utf8)
    self.content = content
  }

  // The signs that browsers escape (HTML standard, "multipart/form-data encoding algorithm"), as RFC 7578 section 2
  // allows.
  private static func escaped(_ name: String) -> String {
    var escaped = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "\"": escaped += "%22"
      case "\r": escaped += "%0D"
      case "\n": escaped += "%0A"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension RequestBody {
  /// Creates a form: `multipart/form-data` (RFC 7578), as browsers send forms with files.
  ///
  ///     request.body = RequestBody(multipart: [
  ///       BodyPart("language", "en"), BodyPart("file", file: "/srv/audio/talk.flac", contentType: "audio/flac"),
  ///     ])
  ///
  /// The ``contentType`` has the random boundary between the parts, so leave the request's `Content-Type` unset. Names
  /// are escaped: none can end its part or begin a field. Files may have any size: at most half a megabyte of them is
  /// in memory, and one is open at a time. The length is known when the request starts, so the form is not sent
  /// chunked.
  ///
  /// All files are looked at when the request starts. It fails with `bodyFailed` and a ``RequestBodyError`` if one
  /// can't be read or is no regular file, or if its size, modification time or inode number has changed by the time
  /// its last piece is read. A file that is empty at the start is sent as empty.
  ///
  /// - Parameters:
  ///   - parts: The parts, in the order in which they are sent. Without any, the form has only its closing boundary.
  ///   - canBeSentAgain: Whether it may be sent a second time, for example for a retry.
  public init(multipart parts: [BodyPart], canBeSentAgain: Bool = true) {
    // 124 random bits: no content has them by chance, or by intent.
    let boundary = "headgate-" + (0..<24).map { _ in String(Int.random(in: 0..<36), radix: 36) }.joined()
    let form = MultipartBody(parts, boundary: boundary)
    // Without files, nothing has to be opened.
    self.init(form.bytes.map { .bytes($0) } ?? .parts(form), canBeSentAgain: canBeSentAgain)
    contentType = "multipart/form-data; boundary=\(boundary)"
  }
}
