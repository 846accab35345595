import HeadgateLibC
import HeadgateThreads

/// Where a ``FileSink`` stores a body. The sink calls it on its lane, one call at a time. Each call blocks.
package protocol BodyStore: AnyObject {
  /// Whether bytes are passed on as they arrive, and not block by block.
  var isPrompt: Bool { get }

  /// Whether what was appended can be taken back, since the response has broken off and its rest can't be requested. Nothing
  /// is passed on from then until ``drop()``. Called on any thread.
  func withdraw() -> Bool

  /// Begins a body. What was stored before is void. An earlier run's part stays until the first bytes are appended.
  func begin(_ validator: Validator) throws(DispatchError)

  /// Continues a body: its first bytes are stored already, by this object or by an earlier run.
  func goOn(after part: PartialBody) throws(DispatchError)

  /// Appends bytes to the body.
  func append(_ bytes: [UInt8]) throws(DispatchError)

  /// The checksum of the bytes stored so far.
  func checksum() throws(DispatchError) -> Checksum

  /// Gives the complete body its name. `completion` gets the path of the file, perhaps later, on any thread.
  func finish(_ body: CompleteBody, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void)

  /// Another request follows, perhaps much later. Until then no file is open.
  func suspend()

  /// Gives the body up. A part that another run can continue is kept; any other that this object has begun is removed.
  ///
  /// - Parameter rest: Bytes that have not been appended yet.
  func leave(_ rest: [UInt8])

  /// Removes what this object has stored. An earlier run's part that it has not touched stays.
  func drop()
}

extension BodyStore {
  package var isPrompt: Bool { false }
  package func withdraw() -> Bool { true }
}

/// A body that has arrived completely.
package struct CompleteBody: Sendable {
  /// The bytes that have not been appended yet.
  package let rest: [UInt8]
  /// Of the whole body, in bytes.
  package let size: Int
  package let validator: Validator
  /// The checksum that it was compared with. Nil: it was not compared.
  package let checksum: Checksum?
  /// The file's modification time, in seconds since 1970. Nil for now.
  package let modified: Int?

  package init(rest: [UInt8], size: Int, validator: Validator, checksum: Checksum?, modified: Int?) {
    (self.rest, self.size, self.validator) = (rest, size, validator)
    (self.checksum, self.modified) = (checksum, modified)
  }
}

/// A download: where its body goes, and what is there already.
package struct FileOrder {
  let store: any BodyStore
  let part: PartialBody?
  let checksum: Checksum?
  let keepsServerTime: Bool
  private(set) var keepsRefusal = false

  package init(_ store: any BodyStore, continuing part: PartialBody?, checksum: Checksum?, keepsServerTime: Bool) {
    (self.store, self.part, self.checksum, self.keepsServerTime) = (store, part, checksum, keepsServerTime)
  }

  /// Looks for the part that an earlier download has left. Blocks.
  init(_ destination: FileDestination, _ request: DispatchRequest) {
    let store: any BodyStore
    var part: PartialBody?
    if destination.collision == .resume {
      let note = PartNote(destination, of: request)
      part = note.look()
      store = NotedPart(note)
    } else {
      store = NewFile(destination)
    }
    self.init(
      store, continuing: part, checksum: destination.checksum, keepsServerTime: destination.keepsServerTime)
    keepsRefusal = destination.keepsRefusal
  }

  /// Does the same on a file thread.
  static func looking(for destination: FileDestination, _ request: DispatchRequest) async -> sending FileOrder {
    guard destination.collision == .resume else { return FileOrder(destination, request) }
    return await withContinuation { continuation in
      SerialLane(on: FileSink.crew).run { continuation.resume(returning: FileOrder(destination, request)) }
    }
  }
}

extension DispatchError {
  /// The error of a part file that can't be written.
  ///
  /// - Parameter creating: Whether only its folder can be missing.
  package static func unwritten(
    _ part: String, _ error: SystemError, creating: Bool = false
  ) -> DispatchError {
    let detail =
      switch error.errno {
      case EWOULDBLOCK: "another download is writing \(part); wait for its end, or choose another folder"
      case EEXIST: "\(part) is another program's; remove it or move it away"
      case ENOENT where creating: "writing \(part): its folder does not exist"
      default: "writing \(part): \(error)"
      }
    return DispatchError(.fileFailed, phase: .writing, detail: detail, underlyingError: error)
  }
}
