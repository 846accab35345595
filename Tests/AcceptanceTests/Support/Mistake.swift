import Testing

/// A line that a new user types, and the message about it.
struct Mistake: Sendable, CustomTestStringConvertible {
  /// For the shell. `$ORIGIN` is a server; `urls.txt` has one of its URLs.
  let line: String
  /// The beginning of the first line of the messages; nil: the command does what was intended.
  let says: String?
  let status: Int32

  var testDescription: String { line }

  init(_ line: String, says: String?, status: Int32 = 2) {
    (self.line, self.says) = (line, says)
    self.status = says == nil ? 0 : status
  }

  static let all = places + urls + options + others

  private static let begins = "; URLs begin with https:// or http://"

  /// The subcommand, the list and the folder.
  private static let places = [
    Mistake("headgate fetch", says: "headgate: there is nothing to fetch: give URLs, or a list with -i FILE"),
    Mistake(
      "headgate -i urls.txt",
      says: "headgate: \"-i\" is not a subcommand; begin with one, such as headgate fetch -i FILE"),
    Mistake(
      "headgate $ORIGIN/a", says: "headgate: \"http://127.0.0.1:PORT/a\" is not a subcommand; begin with one, such as "),
    Mistake(
      "headgate http://ada:secret@h/", says: "headgate: \"http://ada:***@h/\" is not a subcommand; begin with one"),
    Mistake(
      "headgate fetch urls.txt", says: "headgate: \"urls.txt\" is a file, not a URL; give a list of URLs with -i FILE"),
    Mistake(
      "headgate fetch -i url.txt",
      says: "headgate: the list url.txt can't be read: No such file or directory; looked for in /", status: 3),
    Mistake(
      "headgate fetch -i .", says: "headgate: the list . can't be read: Is a directory; give a file in it", status: 3),
    Mistake(
      "headgate fetch -i $ORIGIN/a",
      says: "headgate: -i needs a file, but http://127.0.0.1:PORT/a is a URL; leave out -i, or save the file first"),
    Mistake("headgate fetch -i windows.txt -P out", says: nil),
    Mistake(
      "headgate fetch -i utf16.txt",
      says: "headgate: utf16.txt:1: \"\u{FFFD}\u{FFFD}h\\u{0}\": it is not UTF-8; save the list as UTF-8"),
    Mistake(
      "headgate fetch -i urls.txt -P urls.txt",
      says: "headgate: urls.txt is a file, but -P needs a folder; give another name", status: 3),
    Mistake(
      "headgate fetch -i urls.txt -P /dev/null/out",
      says: "headgate: the folder /dev/null/out can't be made: Not a directory; give another one with -P", status: 3),
    Mistake("headgate fetch -i urls.txt -O out", says: "headgate: \"out\" is not a URL; -O takes no name: give -P DIR"),
  ]

  private static let urls = [
    Mistake(
      "headgate fetch example.com/a", says: "headgate: \"example.com/a\" has no scheme; write https://example.com/a"),
    Mistake(
      "headgate fetch localhost:8080/a",
      says: "headgate: \"localhost:8080/a\": the scheme localhost is not supported; write https://localhost:8080/a"),
    Mistake("headgate fetch ftp://h/a", says: "headgate: \"ftp://h/a\": the scheme ftp is not supported\(begins)"),
    Mistake("headgate fetch http//h/a", says: "headgate: \"http//h/a\" has no scheme\(begins)"),
    Mistake(
      "headgate fetch http:/h/a", says: "headgate: \"http:/h/a\" has no host; write it as scheme://host/path"),
    Mistake(
      "headgate fetch '\"http://h/a\"'", says: "headgate: \"\"http://h/a\"\" is not a URL; write it as http://host/path"
    ),
    Mistake("headgate fetch \"$ORIGIN/a b\"", says: nil),
  ]

  /// Options of other programs.
  private static let options = [
    Mistake(
      "headgate fetch -u ada:secret $ORIGIN/a",
      says: "Error: The value '***' is invalid for '-u <[host=]name|env:name>': give the name alone and the password at"
    ),
    Mistake("headgate fetch -k $ORIGIN/a", says: nil),
    Mistake("headgate fetch -j16 $ORIGIN/a", says: nil),
    Mistake(
      "headgate fetch -x16 $ORIGIN/a",
      says: "Error: -x is not supported: give --proxy URL for a proxy, --per-host N for "),
    Mistake("headgate fetch -c -i urls.txt", says: "Error: -c is not supported: give --session FILE to continue"),
    Mistake("headgate fetch --input urls.txt", says: "Error: Unknown option '--input': give -i FILE"),
    Mistake("headgate fetch --list=urls.txt", says: "Error: Unknown option '--list': give -i FILE"),
    Mistake(
      "headgate fetch --inputfile urls.txt", says: "Error: Unknown option '--inputfile'. Did you mean '--input-f"),
    Mistake("headgate fetch -i urls.txt -p out", says: "Error: Unknown option '-p': give -P DIR."),
    Mistake("headgate fetch -i urls.txt --out out", says: "Error: Unknown option '--out': give -P DIR."),
    Mistake(
      "headgate fetch -i urls.txt --concurrency 5",
      says: "Error: Unknown option '--concurrency': give --per-host N for each host, -j N for all hosts together."),
    Mistake(
      "headgate fetch -i urls.txt --timeout 5",
      says: "Error: Unknown option '--timeout': give --max-time SECONDS for each request, --deadline SECONDS for the"),
    Mistake("headgate fetch -i urls.txt --retries 5", says: "Error: Unknown option '--retries': give --retry N"),
    Mistake("headgate fetch -r $ORIGIN/", says: "Error: Unknown option '-r': links are not followed: give a list"),
    Mistake("headgate fetch -I $ORIGIN/a", says: "Error: -I is not supported: give --check"),
    Mistake("headgate fetch --resume -i urls.txt", says: "Error: Unknown option '--resume': give --session FILE"),
  ]

  /// Values, variables and rows.
  private static let others = [
    Mistake(
      "headgate fetch -i urls.txt --rate 10",
      says: "Error: The value '10' is invalid for '--rate <[host=]n/s>': \"10\" is not a rate; write 10/s, 100/min"),
    Mistake(
      "headgate fetch -i urls.txt --limit 4",
      says: "Error: The value '4' is invalid for '--limit <host=n>': write it as host=n, such as '*.example.com=2'"),
    Mistake(
      "headgate fetch -i urls.txt --group '*.example.com' --limit example=2",
      says: "Error: The value '*.example.com' is invalid for '--group <name=hosts>': write it as name=host, such as"),
    Mistake(
      "headgate fetch -i urls.txt --group site=example.com",
      says: "Error: The group site has no limit; give --limit site=N or --rate site=N/s too."),
    Mistake(
      "headgate fetch -i urls.txt --group site=example.com --limit sit=2",
      says: "Error: --limit sit=…: there is no group of this name, only site; for a host, write 'sit.=…', with a dot."),
    Mistake(
      "headgate fetch -i urls.txt --rate-fields X-Left",
      says:
        "Error: The value 'X-Left' is invalid for '--rate-fields <fields>': write remaining=FIELD,reset=FIELD,unit=s"
    ),
    Mistake(
      "headgate fetch -i urls.txt -m 5s",
      says: "Error: The value '5s' is invalid for '-m <seconds>': give a number of seconds above 0, such as 30 or 0.5"),
    Mistake(
      "headgate fetch -H 'Authorization Bearer x' $ORIGIN/a",
      says: "Error: The value '***' is invalid for '-H <[host=]name: value|@file>': write it as 'Name: value'"),
    Mistake(
      "http_proxy=nonsense:abc headgate fetch $ORIGIN/a",
      says:
        "headgate: environment variable http_proxy: the proxy's URL is not valid: the port is not a number; correct "
        + "it, or give --proxy URL, or --proxy '' for none"),
    Mistake(
      "headgate call --url $ORIGIN/a", says: "headgate: there are no rows: give a file with -i FILE"),
    Mistake(
      "headgate call -i rows.ndjson --url $ORIGIN/a -T '{path}'",
      says: "Error: -T sends files that rows name: give --files-from DIR, the folder that they are below."),
    Mistake(
      "headgate call -i rows.ndjson --url $ORIGIN/a --next paging.next",
      says:
        "Error: The value 'paging.next' is invalid for '--next <link|body:path>': write link, or body: and the path of "
    ),
    Mistake(
      "headgate call -i urls.txt --url $ORIGIN/a",
      says:
        "headgate: urls.txt:1: it is not JSON: expected a value, at byte 1; give --csv for CSV, and use headgate "
        + "fetch for a list of URLs"),
  ]
}
