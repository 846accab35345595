/// The long part of `headgate fetch --help`.
enum FetchHelp {
  static let text = """
    Without -P or -O all bodies go to the standard output, one after another in the order of the list. With one of \
    them each body becomes a file, named after the last part of its URL's path; it is called name.part until it is \
    whole. A status that is not 2xx, after redirects, is an error: its body is not kept.

    A list may name whatever this machine can reach: its own servers, private networks and, as http+unix URLs, \
    sockets. Take lists from those whom you trust, or filter them. Redirects of public servers don't lead there, \
    unless --allow-private-redirects is given.

    EXAMPLES
      headgate fetch -i urls.txt --per-host 4 -P out
      headgate fetch -i urls.txt -P out --max-time 30 --log log.ndjson
      headgate fetch -i urls.txt -P out --limit '*.example.com=2' --limit cdn.example.com=16
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
