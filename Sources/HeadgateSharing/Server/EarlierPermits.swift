import HeadgateGate
import HeadgateLibC

/// The permits that earlier servers of a folder have granted, and that programs may still hold.
struct EarlierPermits: Sendable {
  struct Item: Sendable {
    let id: PermitLedger.PermitID
    let record: PermitRecord
    let pipe: PermitPipe
  }

  private(set) var items: [Item] = []
  /// The last number in the folder, or 0.
  let lastNumber: PermitLedger.PermitID

  /// Opens their pipes. A pipe without a complete record was never granted, and is removed.
  ///
  /// - Throws: if a permit can't be read now, for example because no descriptor is left. It may be held, so it stays in
  ///   the folder for the next attempt.
  init(in folder: PermitFolder) throws(SystemFailure) {
    let numbers = try folder.recoverPermitNumbers()
    lastNumber = numbers.last ?? 0
    do throws(SystemFailure) {
      for id in numbers {
        guard let record = try PermitRecord.read(from: folder.record(id)),
          let pipe = try PermitPipe.inherit(from: folder.pipe(id))
        else {
          unlink(folder.pipe(id))
          unlink(folder.record(id))
          continue
        }
        items.append(Item(id: id, record: record, pipe: pipe))
      }
    } catch {
      close()
      throw error
    }
  }

  /// Closes the pipes again, if no server takes them over.
  func close() {
    for item in items {
      var pipe = item.pipe
      pipe.closeAll()
    }
  }
}
