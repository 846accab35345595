import CCurl
import CHeadgate
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads
import Synchronization

/// Cookies that servers set, sent back with later requests. Enabled by the `cookies` property of a transport's
/// configuration.
///
/// libcurl stores them, by the rules of RFC 6265, and with the public suffix list if it was built with that. A jar may
/// serve several transports and all of their loops; it has its own lock. A request with a `Cookie` field of its own
/// sends that in addition. Servers behind Unix-domain sockets neither set nor receive cookies, because all have the
/// host `localhost`.
public final class CookieJar: @unchecked Sendable, Hashable {
  // Unchecked: libcurl takes the share's locks, which are ours, for all its work with the share (or we do, see
  // CurlVersion.readsCookiesUnlocked), and `access` is used only under `guarded`.

  // Freed in deinit: every handle that uses the share belongs to a transport's loop, which retains the jar.
  let share: UnsafeMutableRawPointer
  private let access: UnsafeMutableRawPointer
  private let guarded = Locked(())
  private let locks: JarLocks

  /// Creates an empty jar.
  ///
  /// - Throws: `DispatchError` with `transportFailed` if memory is exhausted.
  public init() throws(DispatchError) {
    CurlLoop.initializeLibrary
    guard let share = curl_share_init() else {
      throw DispatchError(.transportFailed, detail: "no memory for a cookie jar")
    }
    guard let access = curl_easy_init() else {
      curl_share_cleanup(share)
      throw DispatchError(.transportFailed, detail: "no memory for a cookie jar")
    }
    (self.share, self.access, locks) = (share, access, JarLocks())
    // Unretained: the jar keeps its locks longer than the share.
    ccurl_share_set_locks(
      share, JarLocks.lock, JarLocks.unlock, Unmanaged.passUnretained(locks).toOpaque())
    ccurl_share_cookies(share)
    ccurl_set_share(access, share)
    ccurl_set_string(access, CURLOPT_COOKIEFILE, "")
  }

  /// Creates a jar with the cookies of a file in Netscape's format, as written by curl.
  ///
  /// - Parameter file: Its path. Invalid lines are skipped.
  /// - Throws: `DispatchError` with `fileFailed` if the file can't be read.
  public convenience init(file: String) throws(DispatchError) {
    try self.init()
    guard let stream = fopen(file, "re") else { throw CookieJar.failure(file, "read") }
    defer { fclose(stream) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, stream) >= 0 {
      if let line { add(String(cString: line)) }
    }
    if ferror(stream) != 0 { throw CookieJar.failure(file, "read") }
  }

  deinit {
    curl_easy_cleanup(access)
    curl_share_cleanup(share)
  }

  /// The cookies, one line each, in Netscape's format: domain, whether subdomains are included, path, whether TLS is
  /// required, expiry (seconds since 1970, 0 for the session), name and value, separated by tabs. O(n).
  public var lines: [String] {
    guarded.withLock { _ in
      guard let list = ccurl_get_cookies(access) else { return [] }
      defer { curl_slist_free_all(list) }
      return sequence(first: list) { $0.pointee.next }.compactMap { $0.pointee.data.map { String(cString: $0) } }
    }
  }

  /// Adds a cookie: a line as in ``lines``, or a complete `Set-Cookie: …` field. Other text is ignored.
  public func add(_ line: String) {
    let line = line.last?.isNewline == true ? String(line.dropLast()) : line
    let isComment = line.hasPrefix("#") && !line.hasPrefix("#HttpOnly_")
    // libcurl interprets some words as commands.
    guard !isComment, line.contains("\t") || line.lowercased().hasPrefix("set-cookie:") else { return }
    guarded.withLock { _ in _ = ccurl_set_string(access, CURLOPT_COOKIELIST, line) }
  }

  /// Removes all cookies.
  public func removeAll() { guarded.withLock { _ in _ = ccurl_set_string(access, CURLOPT_COOKIELIST, "ALL") } }

  /// Keeps other threads from the cookies until this thread calls `release`. Needed if
  /// `CurlVersion.readsCookiesUnlocked`.
  func hold() { locks.hold() }
  func release() { locks.release() }

  /// Writes all cookies to a file in Netscape's format. An existing file is replaced once the new one is complete and
  /// on disk. Only its owner may read it.
  ///
  /// The file is first written under a random name in the same folder, which is created exclusively: existing files
  /// and links are neither followed nor written to. If the final name is a symbolic link, the link itself is
  /// replaced, not its target. After an error the old file is unchanged, and no temporary file is left.
  ///
  /// - Parameter file: The path of a regular file or a link, or one that does not exist yet.
  /// - Throws: `DispatchError` with `fileFailed` if the file can't be written, or if the path is a device, a pipe or
  ///   a folder.
  public func save(to file: String) throws(DispatchError) {
    let text = "# Netscape HTTP Cookie File\n\n" + lines.map { $0 + "\n" }.joined()
    var info = stat()
    // Replacing /dev/stdout or a pipe with a file would destroy it for all its users.
    guard stat(file, &info) != 0 || info.st_mode & S_IFMT == S_IFREG else {
      throw DispatchError(.fileFailed, detail: "the cookies can't be written to \"\(file)\": it is not a regular file")
    }
    let part = CookieJar.randomName(beside: file)
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CookieJar.failure(file, "written") }
    let isWritten = CookieJar.write(Array(text.utf8), to: descriptor) && CookieJar.isSynchronized(descriptor)
    // `errno` is read after the first error, since the calls below may change it.
    let failure = isWritten ? nil : CookieJar.failure(file, "written")
    let isClosed = close(descriptor) == 0
    guard failure == nil, isClosed, rename(part, file) == 0 else {
      let failure = failure ?? CookieJar.failure(file, "written")
      unlink(part)
      throw failure
    }
  }

  // Not derived from the file's name, which may already have the maximum length.
  private static func randomName(beside file: String) -> String {
    let name = Array(file.utf8)
    let folder = name.lastIndex(of: UInt8(ascii: "/")).map { name[...$0] } ?? []
    return String(decoding: folder, as: UTF8.self) + ".headgate-cookies-"
      + String(UInt64.random(in: .min ... .max), radix: 16)
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
      guard count > 0 || count < 0 && errno == EINTR else { return false }
      rest = rest.dropFirst(max(0, count))
    }
    return true
  }

  // Some file systems, mostly network ones, do not support fsync. That is not an error.
  private static func isSynchronized(_ descriptor: Int32) -> Bool {
    fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP
  }

  private static func failure(_ file: String, _ what: String) -> DispatchError {
    DispatchError(
      .fileFailed, detail: "the cookies in \"\(file)\" can't be \(what): \(String(cString: strerror(errno)))")
  }

  /// Whether both are the same object.
  public static func == (left: CookieJar, right: CookieJar) -> Bool { left === right }

  /// Hashes the identity of the jar.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// An alias, because the method above hides the system call of the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

/// The locks that libcurl requires: one for each kind of data, because it takes the share's lock while it holds the
/// cookies'.
private final class JarLocks: Sendable {
  private let locks = (0..<16).map { _ in CallbackLock() }
  // The thread that holds the cookies' lock between libcurl's own uses of it; 0 while none does. Relaxed: each thread
  // looks only for its own number, which it stored itself.
  private let holder = Atomic<UInt>(0)

  func hold() {
    locks[Int(CURL_LOCK_DATA_COOKIE.rawValue)].lock()
    holder.store(headgate_thread_number(), ordering: .relaxed)
  }

  func release() {
    holder.store(0, ordering: .relaxed)
    locks[Int(CURL_LOCK_DATA_COOKIE.rawValue)].unlock()
  }

  // Nil if this thread holds the lock already. Unretained: the jar outlives all of libcurl's calls.
  private static func find(_ kind: curl_lock_data, _ pointer: UnsafeMutableRawPointer?) -> CallbackLock? {
    guard let pointer else { return nil }
    let jar = Unmanaged<JarLocks>.fromOpaque(pointer).takeUnretainedValue()
    if kind == CURL_LOCK_DATA_COOKIE, CurlVersion.readsCookiesUnlocked,
      jar.holder.load(ordering: .relaxed) == headgate_thread_number()
    {
      return nil
    }
    return jar.locks[Int(kind.rawValue) & 15]
  }

  static let lock: curl_lock_function = { _, kind, _, pointer in find(kind, pointer)?.lock() }
  static let unlock: curl_unlock_function = { _, kind, pointer in find(kind, pointer)?.unlock() }
}
