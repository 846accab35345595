#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Bodies in Foundation's types: `Data`, and JSON with `Codable`.

extension RequestBody {
  /// Creates a body from data, which is copied slice by slice as it is sent; URLSession uses it without a copy. Up to
  /// 64 KB are copied at once.
  ///
  /// - Parameter data: The bytes.
  public init(_ data: Data) {
    guard data.count > 64 * 1024 else {
      self.init(Array(data))
      return
    }
    // The indices of a slice of data don't begin at 0.
    self.init(
      BodySlices(data, count: data.count) { range in
        Array(data[data.startIndex + range.lowerBound..<data.startIndex + range.upperBound])
      })
  }

  /// Creates a body with a value as JSON. Its ``contentType`` is `application/json`.
  ///
  ///     request.body = try RequestBody(json: order)
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - encoder: The encoder.
  /// - Throws: The error that the encoder throws.
  public init(json value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws {
    self.init(try encoder.encode(value))
    contentType = "application/json"
  }
}

extension DispatchResponse {
  /// The body as Foundation's `Data`, a copy.
  public var data: Data { Data(body) }

  /// Decodes the body as JSON, whatever the status and the `Content-Type`.
  ///
  ///     let order = try response.decode(Order.self)
  ///
  /// - Parameters:
  ///   - type: The type to decode.
  ///   - decoder: The decoder.
  /// - Throws: The error that the decoder throws.
  public func decode<Value: Decodable>(_ type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value {
    try decoder.decode(type, from: data)
  }
}
