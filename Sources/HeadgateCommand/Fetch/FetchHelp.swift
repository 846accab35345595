/// The long part of `headgate fetch --help`.
enum FetchHelp {
  static let text = """
    Without -P, -O or -o all bodies are written to standard output, one after another in the order of the list. With one \
    of them each body becomes a file, named after the last part of its URL's path and its query. The file is called \
    name.part until it is complete. Files with the same name are numbered in the order of the list. A status other \
    than 2xx, after redirects, is an error, and its body is not kept.

    A list may name anything that this machine can reach: its own servers, private networks and, as http+unix URLs, \
    sockets. Take lists from trusted sources only, or filter them. Redirects from public servers don't lead there, \
    unless --allow-private-redirects is given.

    If bodies go to files, the order of the list does not matter: while one host is busy, the list is read ahead for \
    other hosts, and waiting lines are stored in a temporary file (in TMPDIR). Host names are looked up before their \
    URLs are started, at most 24 at a time.

    Requests to one host start about 20 to 30 milliseconds apart, except on this machine: see --min-interval and --rate.

    A host that answers 429 or 503 is paused for the time that it requests, and then tried with one request before the \
    others continue. If it asks for more than 15 minutes, or refuses for so long, the rest of its URLs fail: see \
    --host-patience. A host that can't be reached is suspended, and after several failed probes its URLs fail. See \
    --retry-after and --host-failures. With --adaptive, refusals without a requested wait lower the \
    limits of the host, until it refuses almost no requests.

    With --session a run can end at any moment, and the same command continues it. A complete file is not requested \
    again. A partial file is continued if the server still has the same version. Method, URL and body identify the \
    entries, so the list may have changed.

    CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR set the certificate authorities to trust, as with curl.

    kill -USR1 prints the state of every host, and the reason why its next request waits. If the requests of a run of \
    ten seconds or more waited for longer than they ran, the line before the last one says for what. The log has the \
    same for each URL.

    EXAMPLES
      headgate fetch -i urls.txt --per-host 4 -P out
      headgate fetch -i urls.txt -P out --session run
      headgate fetch -P out --session run --retry-failed
      headgate fetch -i urls.txt -P out --max-time 30 --log log.ndjson
      headgate fetch -i urls.txt -P out --limit '*.example.com=2' \\
        --limit cdn.example.com=16
      headgate fetch -i urls.txt -P out --rate 10/s \\
        --rate api.example.com=500/min --retry 9
      headgate fetch -i urls.txt -P out --limit site=3 --rate site=10/s \\
        --group 'site=example.com,*.example.com'
      headgate fetch -i urls.txt -P out --report run.html
      headgate fetch -i urls.txt.gz -P out
      headgate fetch -i urls.txt -P out --checksum-file SHA256SUMS
      headgate fetch -i downloads.aria2 --list-format aria2 -P out
      headgate fetch -i links.txt --check > status.tsv
      headgate fetch -i urls.txt -P out --dedupe --shard 1/3
      headgate fetch -i urls.txt -P out --session run --dry-run
      grep -o 'https://[^"]*' page.html | headgate fetch -i - -O
      headgate fetch -i urls.txt -P out --max-filesize 100M \\
        --header-env Authorization=API_AUTHORIZATION
      headgate fetch -i urls.txt -P out -H 'api.example.com=X-Key: 7'
      headgate fetch -i urls.txt -P out -o '{host}/{path}/{name}'
      headgate fetch -i urls.txt -P out --content-disposition --max-failures 20
      headgate fetch -i urls.txt -P out --json '{"query": "x"}'
      headgate fetch https://example.com/a.json https://example.com/b.json \\
        | jq .

    EXIT STATUS
      0    all URLs were fetched
      1    failures of more than one of the classes below
      2    an invalid option or argument, or bad lines in the list
      3    files: the list, the folder, the disk, the output; no threads left
      4    network: names, connections, responses, --max-filesize, checksums
      5    TLS
      6    timed out, or slower than --speed-limit
      8    HTTP errors: a status that is not 2xx, refused or invalid redirects
      9    requests that an earlier run or an interrupt left with an unknown
           outcome, whatever else failed
      75   nothing failed but URLs whose hosts refuse requests for now: see
           --host-patience; the next run sends them
      130  interrupted: once, running requests finish; twice, at once
    """
}
