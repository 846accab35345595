import HeadgateCurl
import HeadgateDispatch

extension FetchRun {
  /// Saves the cookies and the learned limits in the files that the options name. If a file can't be written, the run
  /// has a fault.
  static func save(
    _ cookies: CookieJar?, learnedBy gate: EndPointGate, _ options: FetchOptions,
    fault: (FailureClass, String) -> Void
  ) {
    if let file = options.connection?.cookieJar, let cookies {
      do throws(DispatchError) { try cookies.save(to: file) } catch { fault(.file, error.detail) }
    }
    if let file = options.adaptiveFile {
      do throws(FetchProblem) { try LearnedFile.write(learnedBy: gate, to: file) } catch {
        fault(.file, error.description)
      }
    }
  }
}
