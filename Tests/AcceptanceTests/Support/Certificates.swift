import Testing

/// A temporary authority, and two certificates signed by it: for this machine, and for another name.
struct Certificates {
  let folder: TemporaryFolder

  /// The authority's own.
  var authority: String { folder.file("authority.pem") }

  init(in folder: TemporaryFolder) async throws {
    self.folder = folder
    try await openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=Headgate test authority", "-keyout", folder.file("authority.key"), "-out", authority)
    try await sign("here", names: "DNS:localhost,IP:127.0.0.1")
    try await sign("other", names: "DNS:other.example")
  }

  /// nginx's directives for one of them.
  func directives(_ name: String) -> String {
    "ssl_certificate \(folder.file(name + ".pem")); ssl_certificate_key \(folder.file(name + ".key"));"
  }

  /// A client certificate of the authority, with an encrypted key.
  func makeClient(password: String) async throws {
    try await sign("client", names: "DNS:client.example")
    try await openssl(
      "ec", "-aes256", "-passout", "pass:\(password)", "-in", folder.file("client.key"), "-out",
      folder.file("client.locked"))
  }

  /// A certificate for this machine that expired yesterday.
  func makeExpired() async throws { try await sign("expired", names: "DNS:localhost,IP:127.0.0.1", days: "-1") }

  private func sign(_ name: String, names: String, days: String = "2") async throws {
    try await openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)", "-keyout",
      folder.file(name + ".key"), "-out", folder.file(name + ".request"))
    try folder.write("subjectAltName=\(names)\n".utf8, to: name + ".names")
    try await openssl(
      "x509", "-req", "-days", days, "-in", folder.file(name + ".request"), "-CA", authority, "-CAkey",
      folder.file("authority.key"), "-CAcreateserial", "-extfile", folder.file(name + ".names"), "-out",
      folder.file(name + ".pem"))
  }

  private func openssl(_ arguments: String...) async throws {
    let tool = try await Tool("openssl", arguments)
    try #require(tool.status == 0, "\(tool.messages)")
  }
}
