import CCurl
import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Cookies that servers set, and get back with later requests: by choice, as the `cookies` of a transport's
/// configuration.
///
/// libcurl keeps them, by the rules of RFC 6265 and the list of public suffixes where it was built with that. A jar may
/// serve several transports, and all loops of each; it has a lock of its own. A request with a `Cookie` field of its
/// own sends that beside the jar's. Unix-domain sockets neither set nor get any: they all have the host `localhost`.
public final class CookieJar: @unchecked Sendable, Hashable {
  // Unchecked: libcurl takes its share's locks, which are ours, round everything that it does with the share, and
  // `access` is used under `guarded` only.

  // Freed in deinit: every handle that uses it belongs to a transport's loop, which keeps the jar.
  let share: UnsafeMutableRawPointer
  private let access: UnsafeMutableRawPointer
  private let guarded = Locked(())
  private let locks: JarLocks

  /// An empty jar.
  ///
  /// - Throws: `DispatchError` with `transportFailed` when there is no memory for it.
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
    // Unretained: the jar keeps its locks for longer than the share.
    ccurl_share_set_locks(
      share, JarLocks.lock, JarLocks.unlock, Unmanaged.passUnretained(locks).toOpaque())
    ccurl_share_cookies(share)
    ccurl_set_share(access, share)
    ccurl_set_string(access, CURLOPT_COOKIEFILE, "")
  }

  /// A jar with the cookies of a file, in Netscape's format, as curl writes it.
  ///
  /// - Parameter file: Its path. Lines that are no cookies are passed over.
  /// - Throws: `DispatchError` with `fileFailed` when it can't be read.
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

  /// The cookies, one a line of Netscape's format: domain, whether for names below it too, path, whether over TLS only,
  /// when it ends (seconds since 1970, 0 with the session), name, value, with tabs in between. O(n).
  public var lines: [String] {
    guarded.withLock { _ in
      guard let list = ccurl_get_cookies(access) else { return [] }
      defer { curl_slist_free_all(list) }
      return sequence(first: list) { $0.pointee.next }.compactMap { $0.pointee.data.map { String(cString: $0) } }
    }
  }

  /// Adds a cookie: a line as in ``lines``, or a whole `Set-Cookie: …` field. What is neither is passed over.
  public func add(_ line: String) {
    let line = line.last?.isNewline == true ? String(line.dropLast()) : line
    let isComment = line.hasPrefix("#") && !line.hasPrefix("#HttpOnly_")
    // libcurl takes a few words for commands.
    guard !isComment, line.contains("\t") || line.lowercased().hasPrefix("set-cookie:") else { return }
    guarded.withLock { _ in _ = ccurl_set_string(access, CURLOPT_COOKIELIST, line) }
  }

  /// Takes all cookies out.
  public func removeAll() { guarded.withLock { _ in _ = ccurl_set_string(access, CURLOPT_COOKIELIST, "ALL") } }

  /// Writes all cookies to a file in Netscape's format, which takes the place of one with this name when it is whole
  /// and on the disk. Only its owner may read it.
  ///
  /// It is written under a random name in the same folder first, which nobody else can have made: what others have
  /// planted there is neither followed nor written to. A symbolic link of the final name is itself replaced, not what
  /// it points to. When it fails, the file of the final name is as it was, and nothing is left behind.
  ///
  /// - Parameter file: Its path: of a regular file, a link, or of nothing yet.
  /// - Throws: `DispatchError` with `fileFailed` when it can't be written, or when the path is that of a device, a pipe
  ///   or a folder.
  public func save(to file: String) throws(DispatchError) {
    let text = "# Netscape HTTP Cookie File\n\n" + lines.map { $0 + "\n" }.joined()
    var info = stat()
    // Replaced by a file, /dev/stdout or a pipe would be lost to all who use it.
    guard stat(file, &info) != 0 || info.st_mode & S_IFMT == S_IFREG else {
      throw DispatchError(.fileFailed, detail: "the cookies can't be written to \"\(file)\": it is no regular file")
    }
    let part = CookieJar.randomName(beside: file)
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CookieJar.failure(file, "written") }
    let isWritten = CookieJar.write(Array(text.utf8), to: descriptor) && CookieJar.isSynchronized(descriptor)
    // Told by the first that went wrong: what follows it may set the number anew.
    let failure = isWritten ? nil : CookieJar.failure(file, "written")
    let isClosed = close(descriptor) == 0
    guard failure == nil, isClosed, rename(part, file) == 0 else {
      let failure = failure ?? CookieJar.failure(file, "written")
      unlink(part)
      throw failure
    }
  }

  // A name of its own, not one that grows from the file's: that may be as long as a name can be.
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

  // Some file systems, of networks for the most part, know of no such thing. That is no failure.
  private static func isSynchronized(_ descriptor: Int32) -> Bool {
    fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP
  }

  private static func failure(_ file: String, _ what: String) -> DispatchError {
    DispatchError(
      .fileFailed, detail: "the cookies in \"\(file)\" can't be \(what): \(String(cString: strerror(errno)))")
  }

  /// Whether both are one jar.
  public static func == (left: CookieJar, right: CookieJar) -> Bool { left === right }

  /// Feeds the jar's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// Named so that the method above can reach the system's call of the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

/// The locks that libcurl asks for: one for each kind of data, since it takes that of the share inside that of the
/// cookies.
private final class JarLocks: Sendable {
  private let locks = (0..<16).map { _ in CallbackLock() }

  // Unretained: the jar keeps the object for longer than libcurl may call with it.
  private static func find(_ kind: curl_lock_data, _ pointer: UnsafeMutableRawPointer?) -> CallbackLock? {
    guard let pointer else { return nil }
    let locks = Unmanaged<JarLocks>.fromOpaque(pointer).takeUnretainedValue().locks
    return locks[Int(kind.rawValue) & 15]
  }

  static let lock: curl_lock_function = { _, kind, _, pointer in find(kind, pointer)?.lock() }
  static let unlock: curl_unlock_function = { _, kind, pointer in find(kind, pointer)?.unlock() }
}
