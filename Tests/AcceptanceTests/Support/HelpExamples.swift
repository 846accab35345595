import Foundation

/// The commands under EXAMPLES in the help of a subcommand.
enum HelpExamples {
  /// In the order of the help. A command that continues on the next line is joined with it.
  static func commands(in help: String) -> [String] {
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(of: "EXAMPLES") else { return [] }
    var commands: [String] = []
    var goesOn = false
    for line in lines[(start + 1)...].prefix(while: { $0.hasPrefix(" ") }) {
      let text = line.trimmingCharacters(in: .whitespaces)
      let isContinued = text.hasSuffix("\\")
      let part = isContinued ? text.dropLast().trimmingCharacters(in: .whitespaces) : text
      if goesOn { commands[commands.count - 1] += " " + part } else { commands.append(part) }
      goesOn = isContinued
    }
    return commands
  }
}

/// The effect of an example.
struct HelpEffect: Sendable {
  private static let list = ["GET example.com/a.json", "GET example.com/b.json", "GET cdn.example.com/c.json"]
  private static let listed = ["out/a.json", "out/b.json", "out/c.json"]

  /// Run before it.
  var before: String?
  /// Whether the requests before it count too.
  var countsBefore = false
  /// A path whose first request is answered with 500.
  var failing: String?
  /// Method, host and path of the expected requests, in any order.
  var requests = HelpEffect.list
  /// A field that every request has.
  var field: (name: String, value: String)?
  /// The files that are new afterwards.
  var files = HelpEffect.listed
  /// The beginnings of some files.
  var contents: [String: String] = [:]
  var output: String?

  static func listed(_ more: String...) -> HelpEffect { HelpEffect(files: listed + more) }

  static let all: [String: HelpEffect] = fetch.merging(call) { $1 }.merging(others) { $1 }

  private static let fetch: [String: HelpEffect] = [
    "headgate fetch -i urls.txt --per-host 4 -P out": listed(),
    "headgate fetch -i urls.txt -P out --session run": listed("run"),
    "headgate fetch -P out --session run --retry-failed": HelpEffect(
      before: "headgate fetch -i urls.txt -P out --session run --retry 0 || true", failing: "/b.json",
      requests: ["GET example.com/b.json"], files: ["out/b.json"]),
    "headgate fetch -i urls.txt -P out --max-time 30 --log log.ndjson": listed("log.ndjson"),
    "headgate fetch -i urls.txt -P out --limit '*.example.com=2' --limit cdn.example.com=16": listed(),
    "headgate fetch -i urls.txt -P out --rate 10/s --rate api.example.com=500/min --retry 9": listed(),
    "headgate fetch -i urls.txt -P out --limit site=3 --rate site=10/s --group 'site=example.com,*.example.com'":
      listed(),
    "headgate fetch -i urls.txt -P out --report run.html": HelpEffect(
      files: listed + ["run.html"], contents: ["run.html": "<!DOCTYPE html>"]),
    "headgate fetch -i urls.txt.gz -P out": HelpEffect(before: "gzip -k urls.txt"),
    "headgate fetch -i urls.txt -P out --checksum-file SHA256SUMS": HelpEffect(
      before: "for n in a b c; do printf '\"/%s.json\"\\n' $n | sha256sum | sed \"s/-/$n.json/\"; done > SHA256SUMS"),
    "headgate fetch -i downloads.aria2 --list-format aria2 -P out": HelpEffect(
      requests: Array(list[..<2]), files: ["out/first.json", "out/b.json"]),
    "headgate fetch -i links.txt --check > status.tsv": HelpEffect(
      requests: ["HEAD example.com/a.json"], files: ["status.tsv"], contents: ["status.tsv": "200\t"]),
    "headgate fetch -i urls.txt -P out --dedupe --shard 1/3": HelpEffect(
      before: "for n in 2 3; do headgate fetch -i urls.txt -P out --dedupe --shard $n/3; done", countsBefore: true),
    "headgate fetch -i urls.txt -P out --session run --dry-run": HelpEffect(
      requests: [], files: [],
      output: zip(["example.com/a", "example.com/b", "cdn.example.com/c"], ["a", "b", "c"]).map {
        "fetch\thttp://\($0).json\tout/\($1).json\n"
      }.joined()),
    "grep -o 'https://[^\"]*' page.html | headgate fetch -i - -O": HelpEffect(
      requests: Array(list[..<2]), files: ["a.json", "b.json"]),
    "headgate fetch -i urls.txt -P out --max-filesize 100M --header-env Authorization=API_AUTHORIZATION":
      HelpEffect(field: ("Authorization", "Bearer t")),
    "headgate fetch -i urls.txt -P out -H 'api.example.com=X-Key: 7'": listed(),
    "headgate fetch -i urls.txt -P out -o '{host}/{path}/{name}'": HelpEffect(
      files: ["example.com", "example.com/a.json", "example.com/b.json", "cdn.example.com", "cdn.example.com/c.json"]
        .map { "out/" + $0 }),
    "headgate fetch -i urls.txt -P out --content-disposition --max-failures 20": listed(),
    "headgate fetch -i urls.txt -P out --json '{\"query\": \"x\"}'": HelpEffect(
      requests: list.map { $0.replacing("GET", with: "POST") }, field: ("Content-Type", "application/json")),
    "headgate fetch https://example.com/a.json https://example.com/b.json | jq .": HelpEffect(
      requests: Array(list[..<2]), files: [], output: "\"/a.json\"\n\"/b.json\"\n"),
  ]

  private static let call: [String: HelpEffect] = [
    "headgate call -i rows.ndjson --url 'https://api.example.com/items/{id}' -X DELETE -o results.ndjson": HelpEffect(
      requests: ["DELETE api.example.com/items/1", "DELETE api.example.com/items/2"], files: ["results.ndjson"]),
    "headgate call -i people.csv --url https://api.example.com/people --json '{\"name\": {name}, \"age\": {age:json}}' "
      + "--idempotency-key auto --retry 5 --session run -o results.ndjson": HelpEffect(
        requests: ["POST api.example.com/people"], files: ["results.ndjson", "run"]),
    "headgate call -i prompts.ndjson --url https://api.example.com/chat --json @body.json "
      + "--header-env Authorization=API_AUTHORIZATION --rate 500/min --weight max_tokens=90000/min "
      + "--settle usage.total_tokens --idempotency-key auto --retry 8 -o results.ndjson": HelpEffect(
        requests: ["POST api.example.com/chat"], field: ("Authorization", "Bearer t"),
        files: ["results.ndjson"]),
    "headgate call -i rows.ndjson --url 'https://api.example.com/scans/{id}' -T '{id}.pdf' --files-from scans "
      + "-o results.ndjson": HelpEffect(
        before: "mkdir scans; echo 1 > scans/1.pdf; echo 2 > scans/2.pdf",
        requests: ["PUT api.example.com/scans/1", "PUT api.example.com/scans/2"], files: ["results.ndjson"]),
    "headgate call -i rows.ndjson --url 'https://api.example.com/scans/{id}' -P out --save '{id}.pdf' "
      + "-o results.ndjson": HelpEffect(
        requests: ["GET api.example.com/scans/1", "GET api.example.com/scans/2"],
        files: ["out/1.pdf", "out/2.pdf", "results.ndjson"]),
    "headgate call -i rows.ndjson --url 'https://api.example.com/items?to={id}' --next body:paging.next --session run "
      + "-o pages.ndjson": HelpEffect(
        requests: ["GET api.example.com/items?to=1", "GET api.example.com/items?to=2"], files: ["pages.ndjson", "run"],
        contents: ["pages.ndjson": "{\"key\":\""]),
    "headgate call -i rows.ndjson --url 'https://example.com/find?q={query}' | jq .body": HelpEffect(
      requests: ["GET example.com/find?q=x%20y", "GET example.com/find?q=z"], files: [],
      output: "{\n  \"usage\": {\n    \"total_tokens\": 5\n  }\n}\n{\n  \"usage\": {\n    \"total_tokens\": 5\n  }\n}\n"
    ),
  ]

  private static let logged = "headgate fetch -i urls.txt -P out --log log.ndjson"

  private static let others: [String: HelpEffect] = [
    "headgate report log.ndjson -o run.html": HelpEffect(
      before: logged, requests: [], files: ["run.html"], contents: ["run.html": "<!DOCTYPE html>"]),
    "headgate report log.ndjson --har run.har": HelpEffect(
      before: logged, requests: [], files: ["run.har"], contents: ["run.har": "{\"log\":"]),
    "zcat log.ndjson.gz | headgate report - -o run.html": HelpEffect(
      before: logged + "; gzip log.ndjson", requests: [], files: ["run.html"],
      contents: ["run.html": "<!DOCTYPE html>"]),
    "headgate hold api.example.com:443 --per-host 4 -- curl -O https://api.example.com/a": HelpEffect(
      requests: ["GET api.example.com/a"], files: ["a"]),
    "ls *.json | xargs -P50 -I{} headgate hold api.example.com:443 --per-host 4 -- ./upload {}": HelpEffect(
      requests: [], files: ["body.json.sent", "data.json.sent"]),
    "headgate hold builds --slots 2 make all": HelpEffect(
      before: "printf 'all:\\n\\ttouch built\\n' > Makefile", requests: [], files: ["built"]),
    "headgate hold api.example.com:443 --refused-exit 75 ./upload data.json": HelpEffect(
      requests: [], files: ["data.json.sent"]),
    "headgate refused api.example.com:443 --retry-after 60": HelpEffect(requests: [], files: []),
    "headgate refused https://api.example.com/v1 --share unix": HelpEffect(requests: [], files: []),
    "headgate hold llm.example.com:443 --weight 800=90000/min -- ./ask.py": HelpEffect(
      requests: [], files: ["asked"]),
  ]
}
