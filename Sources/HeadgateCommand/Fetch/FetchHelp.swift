/// The long part of `headgate fetch --help`.
enum FetchHelp {
  static let text = """
    Without -P or -O all bodies go to the standard output, one after another in the order of the list. With one of \
    them each body becomes a file, named after the last part of its URL's path and its query; it is called name.part until \
    it is whole. Files of one name are numbered in the order of the list. A status that is not 2xx, after redirects, is an error: its body is not kept.

    A list may name whatever this machine can reach: its own servers, private networks and, as http+unix URLs, \
    sockets. Take lists from those whom you trust, or filter them. Redirects of public servers don't lead there, \
    unless --allow-private-redirects is given.

    The order of a list does not matter where bodies go to files: while a host is busy, the list is read ahead for \
    other hosts, and lines that have to wait go to a temporary file (in TMPDIR). Names of hosts are looked up before \
    their URLs take a place, 24 at a time.

    Requests to one host start some 20 to 30 milliseconds apart, but for those to this machine itself: see \
    --min-interval and --rate.

    A host that answers 429 or 503 pauses as a whole, for as long as it asks, and is then tried with one request \
    before the others go on. A host that can't be reached is given up after some tries; its URLs fail as unreachable. \
    See --retry-after and --host-failures. With --adaptive a refusal that asks for no wait lowers what is sent to the \
    host, until it refuses next to nothing.

    With --session a run can end at any moment, and the same command goes on: a file that has its name is not asked for \
    again, a part goes on where it ends if the server has the same version still. What is asked for is known by its URL, \
    so the list may have changed.

    Authorities that servers' certificates are checked against may be named by CURL_CA_BUNDLE, SSL_CERT_FILE and \
    SSL_CERT_DIR, as with curl.

    kill -USR1 shows what every host does, and what its next request waits for, without an effect on the run.

    EXAMPLES
      headgate fetch -i urls.txt --per-host 4 -P out
      headgate fetch -i urls.txt -P out --session run
      headgate fetch -P out --session run --retry-failed
      headgate fetch -i urls.txt -P out --max-time 30 --log log.ndjson
      headgate fetch -i urls.txt -P out --limit '*.example.com=2' --limit cdn.example.com=16
      headgate fetch -i urls.txt -P out --rate 10/s --rate api.example.com=500/min --retry 3
      headgate fetch -i urls.txt -P out --report run.html
      headgate fetch -i urls.txt.gz -P out
      headgate fetch -i links.txt --check > status.tsv
      headgate fetch -i urls.txt -P out --dedupe --shard 1/3
      headgate fetch -i urls.txt -P out --session run --dry-run
      grep -o 'https://[^"]*' page.html | headgate fetch -i - -O
      headgate fetch -i urls.txt -P out --header-env Authorization=API_AUTHORIZATION --max-filesize 100M
      headgate fetch https://example.com/a.json https://example.com/b.json | jq .

    EXIT STATUS
      0    all URLs were fetched
      1    failures of more than one of the classes below
      2    a wrong option or argument, or bad lines in the list
      3    files: the list, the folder, the disk, the output; no threads left
      4    network: names, connections, broken responses, those beyond --max-filesize
      5    TLS
      6    timed out, or slower than --speed-limit
      8    HTTP errors: a status that is not 2xx, a redirect that is refused, broken or one too many
      130  interrupted; once: what runs is finished, twice: at once
    """
}
