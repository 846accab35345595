import HTTPTypes
import HeadgateDispatch

/// A response to a row, whose body is in memory or in a file.
struct CallAnswer: Sendable {
  let status: Int
  let url: String
  let fields: HTTPFields
  let times: DispatchTimes
  /// The body; of one that is in a file, nothing.
  let body: ResponseBody
  /// The path of the body's file.
  let file: String?
  /// The number of bytes of the body.
  let bytes: Int

  init(_ response: DispatchResponse) {
    (status, url, fields) = (response.statusCode, response.url, response.headerFields)
    (times, file, bytes) = (response.times, nil, response.body.count)
    body = ResponseBody(response.body, contentType: fields[.contentType])
  }

  init(_ response: FileResponse) {
    (status, url, fields) = (response.statusCode, response.url, response.head.headerFields)
    (times, file, bytes) = (response.times, response.path, response.bytes)
    body = ResponseBody(response.refusal, contentType: fields[.contentType])
  }
}
