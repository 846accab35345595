/// Why a run can't begin. It is shown in one line, before anything is fetched.
struct FetchProblem: Error, CustomStringConvertible {
  let description: String
  let status: ExitStatus

  init(_ description: String, status: ExitStatus = .file) {
    self.description = description
    self.status = status
  }
}
