import HeadgateDispatch
import Testing

@testable import HeadgateCommand

/// The meaning of a journal that ends at any position.
@Suite struct SessionStateTests {
  private let file = SessionFile(name: "a b", size: 5, validator: Validator(tag: "\"x\"", modified: nil))

  private func journal(_ events: SessionEvent...) -> [UInt8] {
    Array((SessionEvent.header + "\n" + events.map(\.line).joined()).utf8)
  }

  private func plan(
    _ journal: [UInt8], renews: Bool = false, boot: String? = "b", _ files: [String: (Int, UInt64)]
  ) throws -> SessionState.Plan {
    try #require(SessionState.read(journal)).state.plan("k", boot: boot, renews: renews) { name in
      files[name].map { FoundFile(size: $0.0, inode: $0.1) }
    }
  }

  @Test func `Events are read back from their lines`() {
    let strange = "GET http://a/\t\n\\x41\u{7F}ä"
    let checksum = Checksum(String(repeating: "0f", count: 32))
    let compared = SessionFile(name: "b", size: 0, validator: Validator(), checksum: checksum)
    let events: [SessionEvent] = [
      .whole(key: strange, compared, inode: 1), .listed(key: strange, ListedURL(path: "a\t/b")),
      .listed(key: strange, ListedURL(path: "c", checksum: checksum, mirrors: ["http://a/", strange])),
      .began(boot: "b"), .creating(key: strange, name: strange),
      .part(key: strange, name: strange, Validator(tag: "W/\"\t\""), PartIdentity(inode: 3, first: [1, 2])),
      .whole(key: strange, file, inode: .max), .done(key: strange), .failed(key: "", error: "timed_out"),
    ]
    for event in events {
      let line = Array(event.line.utf8)
      #expect(line.count { $0 == UInt8(ascii: "\n") } == 1 && line.last == UInt8(ascii: "\n"))
      #expect(SessionEvent(line.dropLast()) == event)
      // If it is torn, or one byte is changed, it is not an event.
      for end in 0..<(line.count - 1) { #expect(SessionEvent(line[..<end]) == nil) }
      for place in 0..<(line.count - 1) {
        var other = line.dropLast()
        other[place] ^= 1
        #expect(SessionEvent(other) == nil)
      }
    }
  }

  @Test func `Other files are not read as a journal, and a journal torn in its first line is`() {
    #expect(SessionState.read([]) != nil)
    #expect(SessionState.read(Array("headgate-sess".utf8))?.isTorn == true)
    for text in ["my notes\n", "headgate-session 2\n", "headgate\n", "\n", "x"] {
      #expect(SessionState.read(Array(text.utf8)) == nil)
    }
  }

  @Test func `A body exists if its file does, compared by size once recorded and by inode number until then`() throws {
    let noted = journal(.began(boot: "b"), .whole(key: "k", file, inode: 7), .done(key: "k"))
    #expect(try plan(noted, ["a b": (5, 99)]) == .complete(file))
    #expect(try plan(noted, renews: true, ["a b": (5, 99)]) == .renew(file))
    #expect(try plan(noted, ["a b": (4, 7)]) == .begin(name: "a b"))
    #expect(try plan(noted, [:]) == .begin(name: "a b"))
    let open = journal(.began(boot: "b"), .whole(key: "k", file, inode: 7))
    #expect(try plan(open, ["a b": (5, 7)]) == .confirm(file))
    #expect(try plan(open, ["a b.part": (5, 7)]) == .name(file, renews: false))
    #expect(try plan(open, renews: true, ["a b.part": (5, 7)]) == .name(file, renews: true))
    // A file from outside the session stays.
    #expect(try plan(open, ["a b": (5, 8)]) == .begin(name: nil))
    #expect(try plan(open, ["a b.part": (5, 8)]) == .begin(name: nil))
    // So does one of the session that has grown since.
    #expect(try plan(noted, ["a b": (6, 7)]) == .begin(name: nil))
    let replacing = try #require(SessionState.read(noted)).state.plan("k", boot: "b", overwrites: true) { name in
      name == "a b" ? FoundFile(size: 6, inode: 7) : nil
    }
    #expect(replacing == .begin(name: "a b"))
  }

  @Test func `Only a part that the journal knows is replaced, also before the journal knows its identity`() throws {
    let created = journal(.began(boot: "b"), .creating(key: "k", name: "a b"))
    #expect(try plan(created, ["a b.part": (5, 8)]) == .begin(name: "a b"))
    // A journal of an earlier version has a line like it.
    let line = JournalLine.text(["part", "k", "a b", "", "", "0"])
    #expect(SessionEvent(Array(line.utf8).dropLast()) == .creating(key: "k", name: "a b"))
    let done = journal(
      .began(boot: "b"), .creating(key: "k", name: "a b"), .whole(key: "k", file, inode: 7), .done(key: "k"))
    #expect(try plan(done, ["a b.part": (5, 8)]) == .begin(name: nil))
    let earlier = JournalLine.text(["part", "k", "a b", "\"x\"", "", "8"])
    let old = Array((SessionEvent.header + "\n" + SessionEvent.began(boot: "b").line + earlier).utf8)
    #expect(try plan(old, ["a b.part": (5, 8)]) == goOn("a b", 5, Validator(tag: "\"x\"")))
  }

  @Test func `Until a new version has its name the old one exists`() throws {
    let other = SessionFile(name: "a b", size: 6, validator: Validator(tag: "\"y\"", modified: nil))
    let both = journal(
      .began(boot: "b"), .whole(key: "k", file, inode: 7), .done(key: "k"), .whole(key: "k", other, inode: 8))
    #expect(try plan(both, ["a b": (5, 7)]) == .complete(file))
    #expect(try plan(both, ["a b": (5, 7), "a b.part": (6, 8)]) == .name(other, renews: false))
    #expect(try plan(both, ["a b": (6, 8)]) == .confirm(other))
  }

  @Test func `A partial file counts with a strong validator, on the machine that wrote it, until it is restarted`()
    throws
  {
    func part(_ tag: String?) -> [UInt8] {
      journal(
        .began(boot: "b"),
        .part(key: "k", name: "a", Validator(tag: tag, modified: "Mon"), PartIdentity(inode: 1, first: [])))
    }
    let files = ["a.part": (3, UInt64(1))]
    #expect(
      try plan(part("\"x\""), files) == goOn("a", 3, Validator(tag: "\"x\"", modified: "Mon")))
    #expect(try plan(part("\"x\""), boot: "c", files) == .begin(name: "a"))
    #expect(try plan(part("\"x\""), boot: nil, files) == .begin(name: "a"))
    #expect(try plan(part("W/\"x\""), files) == .begin(name: "a"))
    #expect(try plan(part(nil), files) == .begin(name: "a"))
    #expect(try plan(part("\"x\""), ["a.part": (0, 1)]) == .begin(name: "a"))
    // Another session has replaced it.
    #expect(try plan(part("\"x\""), ["a.part": (3, 2)]) == .begin(name: nil))
    #expect(try plan(part("\"x\""), ["a.part": (3, 1), "a": (1, 2)]) == .begin(name: nil))
  }

  @Test func `A part with fewer bytes than are compared is begun anew, under its name`() throws {
    let part = SessionEvent.part(
      key: "k", name: "a", Validator(tag: "\"x\""), PartIdentity(inode: 1, first: [1, 2, 3]))
    #expect(try plan(journal(.began(boot: "b"), part), ["a.part": (2, 1)]) == .begin(name: "a"))
    #expect(
      try plan(journal(.began(boot: "b"), part), ["a.part": (3, 1)])
        == goOn("a", 3, Validator(tag: "\"x\"")))
  }

  @Test func `A name that a body got beside an edited file is its name from then on`() throws {
    let events = journal(
      .began(boot: "b"), .whole(key: "k", file, inode: 7), .done(key: "k"), .creating(key: "k", name: "a b.1"))
    #expect(try plan(events, ["a b": (9, 7), "a b.1.part": (2, 8)]) == .begin(name: "a b.1"))
    #expect(try plan(events, ["a b": (9, 7)]) == .begin(name: "a b.1"))
    #expect(try plan(events, [:]) == .begin(name: "a b"))
    #expect(try #require(SessionState.read(events)).state.names.sorted() == ["a b", "a b.1"])
  }

  @Test func `Failures are remembered until they succeed`() throws {
    let events: [SessionEvent] = [.failed(key: "k", error: "e"), .failed(key: "l", error: "e")]
    var state = SessionState()
    for event in events { state.apply(event) }
    #expect(state.failed == ["k", "l"])
    state.apply(.whole(key: "k", file, inode: 1))
    state.apply(.done(key: "k"))
    #expect(state.failed == ["l"] && !state.hasFailed("k"))
    // It failed to be renewed, and then was current.
    state.apply(.failed(key: "k", error: "e"))
    #expect(state.hasFailed("k"))
    state.apply(.done(key: "k"))
    #expect(!state.hasFailed("k"))
    #expect(state.plan("k", boot: nil) { _ in FoundFile(size: 5, inode: 1) } == .complete(file))
  }

  @Test func `Runs that end at random moments, by a kill or a power cut: nothing is fetched twice or mixed`()
    throws
  {
    var (there, wentOn, cuts) = (0, 0, 0)
    for seed in 0..<400 {
      var model = SessionModel(seed: seed)
      for _ in 0..<3 {
        for _ in 0..<Int.random(in: 0..<60, using: &model.random) { model.step() }
        if Int.random(in: 0..<4, using: &model.random) == 0 {
          cuts += 1
          model.cutPower()
        } else {
          model.kill()
        }
        let state = try #require(SessionState.read(model.journal), "seed \(seed)").state
        for (index, key) in SessionModel.keys.enumerated() {
          let final = model.file("file\(index)")
          switch state.plan(key, boot: "\(model.boot)", { model.find($0) }) {
          case .complete(let file), .confirm(let file):
            there += 1
            #expect(
              final?.size == file.size && file.validator == SessionModel.validator(final?.version ?? -9), "\(seed)")
          case .name(let file, _):
            let part = try #require(model.file("file\(index).part"))
            #expect(part.size == model.lengths[part.version], "\(seed)")
            #expect(file.validator == SessionModel.validator(part.version), "\(seed)")
          case .goOn(_, let beginning):
            wentOn += 1
            let part = try #require(model.file("file\(index).part"))
            #expect(
              part.size == beginning.size && beginning.validator == SessionModel.validator(part.version), "\(seed)")
          case .begin: #expect(final == nil, "\(seed): \(key) is there")
          case .renew, .unknown: Issue.record("nobody asked for it")
          }
        }
        model.start()
      }
    }
    #expect(there > 300 && wentOn > 100 && cuts > 100)
  }
}
