/// A job with its body and storage for its result, in one object.
// Unchecked: as for PoolJob. The fields belong to the thread that has claimed or dropped the job, until its end. Then
// `result` is constant.
@usableFromInline final class ResultJob<Success: ~Copyable, Failure: Error>: PoolJob, @unchecked Sendable {
  // No field's layout depends on the generic types, so the class's own code, above all its destructor, need not look
  // them up. With a `Result` stored inline, every job did so twice. Exclusivity is not checked: the job's word already
  // excludes concurrent access to both fields.
  @exclusivity(unchecked) @usableFromInline var body: (() throws(Failure) -> Success)?
  // Nil for a Void result, which needs no storage.
  @exclusivity(unchecked) @usableFromInline var result: TaskResult<Success, Failure>?

  @inlinable
  init(_ core: PoolCore, body: sending @escaping () throws(Failure) -> Success) {
    self.body = body
    super.init(core) { job in
      // Unchecked: the function is only ever called with an instance of this class.
      let job = unsafeDowncast(job, to: ResultJob<Success, Failure>.self)
      guard let body = job.body.take() else { return false }
      do throws(Failure) {
        let value = try body()
        if Success.self != Void.self { job.result = TaskResult(.success(consume value)) }
        return false
      } catch {
        job.result = TaskResult(.failure(error))
        return true
      }
    }
  }

  @usableFromInline override func dropBody() { body = nil }
}

extension ResultJob where Success: Copyable {
  /// The outcome, once the job has ended.
  // Specialized for the caller's types, like the body.
  @inlinable
  func outcome() throws(PoolTaskError<Failure>) -> Success {
    switch result?.value {
    case .success(let value)?: return value
    case .failure(let error)?: throw PoolTaskError(.failed, failure: error, pool: core.name)
    case nil:
      let reason = dropReason
      if reason == nil, let nothing = () as? Success { return nothing }
      throw PoolTaskError(reason ?? .cancelled, failure: nil, pool: core.name)
    }
  }
}

/// The value that a body returned, or its error.
@usableFromInline
final class TaskResult<Success: ~Copyable, Failure: Error> {
  @usableFromInline var value: Result<Success, Failure>?

  @inlinable init(_ value: consuming Result<Success, Failure>) { self.value = consume value }
}
