import HeadgateLibC
import HeadgateSharing
import HeadgateThreads

/// The permit server in a process of its own, which outlives the command that started it.
enum ShareServerProcess {
  /// Starts `headgate share serve` in the background. It ends at once if another server has the folder.
  ///
  /// The process that is started here starts the server and ends. Otherwise the server would be a child of a command
  /// that knows nothing about it.
  static func start(in folder: PermitFolder) throws(SharingError) {
    do {
      OwnProgram.wait(for: try OwnProgram.start(arguments(folder) + ["--background"]))
    } catch {
      throw SharingError(folder, "no server can be started: \(error)")
    }
  }

  /// Starts the server itself, in a session of its own: signals of the terminal do not reach it.
  static func startDetached(in folder: PermitFolder, linger: Duration, state: String?, noState: Bool) throws {
    setsid()
    _ = try OwnProgram.start(arguments(folder, linger: linger, state: state, noState: noState))
  }

  private static func arguments(_ folder: PermitFolder) -> [String] { ["share", "serve", "--folder", folder.path] }

  static func arguments(
    _ folder: PermitFolder, linger: Duration, state: String? = nil, noState: Bool = false
  ) -> [String] {
    arguments(folder) + ["--linger", "\(linger.inSeconds)"] + (state.map { ["--state", $0] } ?? [])
      + (noState ? ["--no-state"] : [])
  }
}
