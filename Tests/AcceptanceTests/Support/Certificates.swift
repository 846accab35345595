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

  /// A certificate for this machine that has expired. `openssl x509` of OpenSSL 3.4 and later signs no such one.
  func makeExpired() async throws {
    try await request("expired", names: "DNS:localhost,IP:127.0.0.1")
    let configuration = """
      [ca]
      default_ca = here
      [here]
      database = \(folder.file("signed"))
      rand_serial = yes
      default_md = sha256
      policy = any
      [any]
      commonName = supplied
      """
    try folder.write(configuration.utf8, to: "ca")
    try folder.write([], to: "signed")
    try await openssl(
      "ca", "-batch", "-notext", "-config", folder.file("ca"), "-cert", authority, "-keyfile",
      folder.file("authority.key"), "-in", folder.file("expired.request"), "-startdate", "20200101000000Z", "-enddate",
      "20200102000000Z", "-extfile", folder.file("expired.names"), "-outdir", folder.path, "-out",
      folder.file("expired.pem"))
  }

  private func sign(_ name: String, names: String) async throws {
    try await request(name, names: names)
    try await openssl(
      "x509", "-req", "-days", "2", "-in", folder.file(name + ".request"), "-CA", authority, "-CAkey",
      folder.file("authority.key"), "-CAcreateserial", "-extfile", folder.file(name + ".names"), "-out",
      folder.file(name + ".pem"))
  }

  private func request(_ name: String, names: String) async throws {
    try await openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)", "-keyout",
      folder.file(name + ".key"), "-out", folder.file(name + ".request"))
    try folder.write("subjectAltName=\(names)\n".utf8, to: name + ".names")
  }

  private func openssl(_ arguments: String...) async throws {
    let tool = try await Tool("openssl", arguments)
    try #require(tool.status == 0, "\(tool.messages)")
  }
}
