import HeadgateOrigin

/// The effect of each command of docs/coming-from.md.
enum ComingFrom {
  private static let listed = "headgate fetch -i urls.txt"
  private static let first = "headgate fetch -i urls.txt -P out --session run"
  private static let one = "https://example.com/a.json"
  private static let second = "https://example.com/b.json"
  private static let third = "https://cdn.example.com/c.json"
  private static let two = "https://example.com/a.json https://example.com/b.json"
  private static let chat = "headgate call -i prompts.ndjson --url https://api.example.com/v1/chat --json "
  private static let request = "POST api.example.com/v1/chat"
  private static let prompts = ["1", "2"].map { "{\"model\": \"m\", \"messages\": [{\"content\":\"\($0)\"}]}" }
  private static let cookie = ["Cookie": "sugar=7"]

  static let effects = lists.merging(urls) { $1 }.merging(calls) { $1 }

  private static let lists: [String: CommandEffect] = [
    "\(listed) -P out": .list(.long),
    "headgate fetch -i downloads.aria2 --list-format aria2 -P out": CommandEffect(
      requests: ["GET example.com/a.json", "GET example.com/b.json"], files: ["out/first.json", "out/b.json"]),
    "\(listed) -O -j 16": .list(in: "", .long),
    "\(listed) -P out -j 8": .list(.long),
    "\(listed) -P out --per-host 4": .list(.long, most: 4),
    "\(listed) -O --per-host 8": .list(in: "", .long, most: 8),
    "\(listed) -O": .list(in: "", .long),
    "\(listed) -O --max-failures 5": .list(in: ""),
    "\(listed) -o '{host}/{path}/{name}'": CommandEffect(
      requests: CommandEffect.short, files: ["", "/a.json", "/b.json", "/c.json"].map { "127.0.0.1" + $0 }),
    "\(listed) > all": CommandEffect(
      requests: CommandEffect.short, files: ["all"], contents: ["all": "/a.json\n/b.json\n/c.json\n"]),
    "grep -o 'https://[^\"]*' page.html | headgate fetch -i - -O --per-host 4": .stored("a.json", "b.json"),
    "sed 's,.*,https://example.com/&.json,' ids.txt | headgate fetch -i - -O --per-host 4": .stored("1.json", "2.json"),
    "seq -f 'https://example.com/%g.json' 3 | headgate fetch -i - -O": .stored("1.json", "2.json", "3.json"),

    first: .goingOn(after: first),
    "\(listed) -O --session run": .goingOn(in: "", after: "\(listed) -O --session run"),
    "headgate fetch -P out --session run --retry-failed": .goingOn(after: first),
    "headgate fetch -O --session run --retry-failed": .goingOn(in: "", after: "\(listed) -O --session run"),
    "\(first) -N": CommandEffect(
      before: first, requests: CommandEffect.short, fields: ["If-None-Match": "\"1\""],
      contents: ["out/a.json": "/a.json\n"]),
    "\(listed) -P out --retry 4": .repeating(),
    "\(listed) -O --retry 4": .repeating(in: ""),
    "\(listed) -P out --min-interval 1": .list(seconds: 1),
    "\(listed) -O --min-interval 0.5": .list(in: "", seconds: 0.5),

    "\(listed) -P out --idle-timeout 20 --connect-timeout 10": .list(),
    "\(listed) -P out --connect-timeout 10 --idle-timeout 10": .list(),
    "\(listed) -O --max-time 30": .list(in: ""),
    "\(listed) -P out --speed-limit 1K": .list(),
    "\(listed) -P out --max-redirs 5": .list(),
    "\(listed) -P out -H 'X-Key: 7'": .list(fields: ["X-Key": "7"]),
    "\(listed) -P out -A me/1 -H 'X-Key: 7'": .list(fields: ["X-Key": "7", "User-Agent": "me/1"]),
    "\(listed) -P out -b cookies.txt": .list(fields: cookie),
    "\(listed) -P out -b cookies.txt --cookie-jar jar.txt": .list(fields: cookie, also: ["jar.txt"]),
    "\(listed) -P out -k": .list(),
    "\(listed) -P out -q": .list(),
    "\(listed) -P out -v 2> log": .list(also: ["log"]),
    "\(listed) -O --progress full": .list(in: ""),
    "\(listed) -O --dedupe": .list(in: ""),
    "headgate fetch -i urls.txt.gz -O": .list(in: "", after: "gzip -k urls.txt"),
    "\(listed) -P out --shard 1/3": .list(
      after: "for n in 2 3; do \(listed) -P out --shard $n/3; done", countsBefore: true),
    "\(listed) -P out --dry-run": CommandEffect(
      requests: [], output: "fetch\t\(one)\tout/a.json\nfetch\t\(second)\tout/b.json\nfetch\t\(third)\tout/c.json\n"),
    "\(listed) --check": CommandEffect(requests: CommandEffect.short.map { $0.replacing("GET", with: "HEAD") }),
  ]

  private static let urls: [String: CommandEffect] = [
    "headgate fetch -R -O \(one)": .stored("a.json"),
    "headgate fetch -O \(one)": .stored("a.json"),
    "headgate fetch -q \(one)": .printed(),
    "headgate fetch --check \(one)": CommandEffect(requests: ["HEAD example.com/a.json"], output: "200\t\(one)\n"),
    "headgate fetch -O -j 8 \(two)": .stored("a.json", "b.json"),
    "headgate fetch -O --per-host 4 \(two)": .stored("a.json", "b.json"),
    "headgate fetch -o a \(one)": CommandEffect(
      requests: ["GET example.com/a.json"], files: ["a"], contents: ["a": "/a.json\n"]),
    "headgate fetch -O --content-disposition \(one)": .stored("a.json"),
    "headgate fetch -d 'name=Ada' https://api.example.com/items": CommandEffect(
      requests: ["POST api.example.com/items"], fields: ["Content-Type": "application/x-www-form-urlencoded"],
      output: "name=Ada"),
    "headgate fetch -O --rate 2/s \(two)": .stored("a.json", "b.json", seconds: 0.5),
    "headgate fetch --retry 5 -O https://example.com/busy.json": CommandEffect(
      busy: ["/busy.json"], requests: ["GET example.com/busy.json", "GET example.com/busy.json"], files: ["busy.json"]),
    "headgate fetch -m 30 --connect-timeout 5 \(one)": .printed(),
    "headgate fetch --speed-limit 1024 --speed-time 10 \(one)": .printed(),
    "headgate fetch --max-filesize 1000 \(one)": .printed(),
    "headgate fetch --netrc-file netrc \(one)": .printed(["Authorization": "Basic YWRhOnNlY3JldA=="]),
    "headgate fetch --header-env Authorization=AUTHORIZATION \(one)": .printed(["Authorization": "Bearer t"]),
    "headgate fetch -H @fields.txt -A me/1 \(one)": .printed(["X-Key": "7", "User-Agent": "me/1"]),
    "headgate fetch -b cookies.txt --cookie-jar jar.txt \(one)": .printed(cookie, files: ["jar.txt"]),
    "headgate fetch --proxy http://proxy:3128 \(one)": CommandEffect(
      requests: ["GET proxy/a.json"], fields: ["Host": "example.com"]),
    "headgate fetch -k \(one)": .printed(),
    "headgate fetch --max-redirs 5 --proto-redir =https \(one)": .printed(),
    "headgate fetch -O -q --log - \(one)": .stored("a.json"),
  ]

  private static let calls: [String: CommandEffect] = [
    "headgate call -i rows.ndjson --url 'https://api.example.com/items/{id}' -X DELETE -o results.ndjson":
      CommandEffect(
        requests: ["DELETE api.example.com/items/1", "DELETE api.example.com/items/2"], files: ["results.ndjson"],
        bodies: ["", ""]),
    "headgate call -i rows.ndjson --url https://api.example.com/items --json '{\"name\": {name}}' -o results.ndjson":
      .called("POST api.example.com/items", ["{\"name\": \"Ada\"}", "{\"name\": \"Bo\"}"]),
    "headgate call -i rows.ndjson --url https://api.example.com/items --json '{\"id\": {id}, \"name\": {name}}' "
      + "--per-host 4":
      .called(
        "POST api.example.com/items", ["{\"id\": 1, \"name\": \"Ada\"}", "{\"id\": 2, \"name\": \"Bo\"}"],
        isPrinted: true),
    "headgate call -i rows.csv --url 'https://api.example.com/items/{id}?name={name}' -o results.ndjson":
      CommandEffect(
        requests: ["GET api.example.com/items/1?name=Ada%20L", "GET api.example.com/items/2?name=Bo"],
        files: ["results.ndjson"], bodies: ["/items/1\n", "/items/2\n"]),
    "\(chat)'{\"model\": \"m\", \"messages\": {messages}}' --header-env Authorization=AUTHORIZATION --per-host 16 "
      + "-o results.ndjson": .called(request, prompts, fields: ["Authorization": "Bearer t"]),
    "\(chat)'{\"model\": \"m\", \"messages\": {messages}}' --rate 500/min -o results.ndjson": .called(request, prompts),
    "\(chat)'{\"model\": \"m\", \"max_tokens\": {max_tokens}, \"messages\": {messages}}' --rate 500/min "
      + "--weight max_tokens=90000/min --settle usage.total_tokens -o results.ndjson":
      .called(request, [settled, settled], answer: .json(settled)),
    "headgate call -i prompts.ndjson --url https://api.example.com/v1/busy --json '{\"model\": \"m\", \"messages\": "
      + "{messages}}' --retry 5 --idempotency-key auto -o results.ndjson":
      CommandEffect(
        busy: ["/v1/busy"], requests: Array(repeating: "POST api.example.com/v1/busy", count: 3),
        files: ["results.ndjson"], bodies: prompts),
    "\(chat)'{\"model\": \"m\", \"messages\": {messages}}' --idempotency-key auto --session run -o results.ndjson":
      .called(request, prompts, also: ["run"]),
    "headgate call -i batch.ndjson --url https://api.example.com/v1/chat --json '{body}' -o results.ndjson":
      .called(request, ["{\"n\":1}", "{\"n\":2}"]),
    "headgate call -i rows.csv --url https://api.example.com/v1/embeddings --json '{\"model\": \"m\", \"input\": {name}}' "
      + "-o results.ndjson":
      .called(
        "POST api.example.com/v1/embeddings",
        ["{\"model\": \"m\", \"input\": \"Ada L\"}", "{\"model\": \"m\", \"input\": \"Bo\"}"]),
  ]

  private static let settled = "{\"usage\":{\"total_tokens\":5}}"
}

extension OriginAnswer {
  fileprivate static func json(_ text: String) -> OriginAnswer {
    var answer = OriginAnswer.text(text)
    answer.headers = [OriginHeader("Content-Type", "application/json")]
    return answer
  }
}
