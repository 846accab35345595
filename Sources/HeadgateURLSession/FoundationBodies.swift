import Foundation
import HeadgateDispatch

// Bodies in Foundation's types: `Data`, and JSON by way of `Codable`.

extension RequestBody {
  /// A body from data, which is copied slice by slice as it is sent; URLSession takes it as it is. Up to 64 KB are one slice,
  /// and copied at once.
  ///
  /// - Parameter data: The bytes.
  public init(_ data: Data) {
    guard data.count > 64 * 1024 else {
      self.init(Array(data))
      return
    }
    // Of a slice of other data the indices do not begin at 0.
    self.init(
      BodySlices(data, count: data.count) { range in
        Array(data[data.startIndex + range.lowerBound..<data.startIndex + range.upperBound])
      })
  }

  /// A value as JSON. The request needs a `Content-Type` field to say so.
  ///
  ///     request.body = try RequestBody(json: order)
  ///     request.headerFields[.contentType] = "application/json"
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - encoder: Encodes it.
  /// - Throws: What the encoder throws.
  public init(json value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws {
    self.init(try encoder.encode(value))
  }
}

extension DispatchResponse {
  /// The body as Foundation has it: a copy.
  public var data: Data { Data(body) }

  /// Reads the body as JSON, whatever the status and the `Content-Type`.
  ///
  ///     let order = try response.decode(Order.self)
  ///
  /// - Parameters:
  ///   - type: What it is to become.
  ///   - decoder: Decodes it.
  /// - Throws: What the decoder throws.
  public func decode<Value: Decodable>(_ type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value {
    try decoder.decode(type, from: data)
  }
}
