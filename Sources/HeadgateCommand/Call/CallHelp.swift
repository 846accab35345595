/// The long part of `headgate call --help`.
enum CallHelp {
  static let text = """
    {name} inserts a field of the row, in --url, -H, --json, --data, -T, -F, --save and --idempotency-key. {address.city} is a field \
    of an object, {items.0} an item of an array, and {"First name"} a field with any other name. In --url, values are \
    percent-encoded and can't leave the path or the query. In --json a field becomes its JSON value, or text within a \
    string. {name:url} is percent-encoded text. {name:json} parses a text as JSON, such as a number from CSV. {{ is a \
    literal brace. A row that lacks a field is an error and is not sent.

    A result is a JSON object: key (identifies the row), outcome, error, line, row, method, url, status, headers, body \
    (body_text or body_base64 if it is not JSON, file with --save), attempts, message, times. The outcome is ok (status 2xx), failed, \
    not_sent, or unknown: the row may have been processed and must not be sent twice, but no response says so. \
    Redirects are not followed: their status is the result.

    With --session a run can end at any moment, and the same command continues it. A row with a result is not sent \
    again. A row that was being sent when the run was killed is sent again with the same key if --idempotency-key is \
    given or its method is idempotent (GET, HEAD, OPTIONS, PUT, DELETE). Otherwise its result has the outcome unknown. \
    Rows are identified by their content, not their line, so the list may be reordered and extended.

    With --next each page of a response is a result, with its number (page) and the URL of the next one (next). A page \
    is written before the next one is requested, and a session goes on after the last page written. Pages at another \
    scheme, host or port are refused, and so are loops.

    EXAMPLES
      headgate call -i rows.ndjson --url 'https://api.example.com/items/{id}' \\
        -X DELETE -o results.ndjson
      headgate call -i people.csv --url https://api.example.com/people \\
        --json '{"name": {name}, "age": {age:json}}' --idempotency-key auto \\
        --retry 5 --session run -o results.ndjson
      headgate call -i prompts.ndjson --url https://api.example.com/chat \\
        --json @body.json --header-env Authorization=API_AUTHORIZATION \\
        --rate 500/min --weight max_tokens=90000/min \\
        --settle usage.total_tokens --idempotency-key auto --retry 8 \\
        -o results.ndjson
      headgate call -i rows.ndjson --url 'https://api.example.com/scans/{id}' \\
        -T '{id}.pdf' --files-from scans -o results.ndjson
      headgate call -i rows.ndjson --url 'https://api.example.com/scans/{id}' \\
        -P out --save '{id}.pdf' -o results.ndjson
      headgate call -i rows.ndjson --url 'https://api.example.com/items?to={id}' \\
        --next body:paging.next --session run -o pages.ndjson
      headgate call -i rows.ndjson --url 'https://example.com/find?q={query}' \\
        | jq .body

    EXIT STATUS
      0    all rows are ok
      1    failures of more than one of the classes below
      2    an invalid option or argument, or rows that can't be sent
      3    files: the rows, the results, the session, the disk; no threads left
      4    network: names, connections, broken responses
      5    TLS
      6    timed out
      8    HTTP errors: a status that is not 2xx
      9    rows whose outcome is unknown, whatever else failed
      75   nothing failed but rows whose hosts refuse requests for now: see
           --host-patience; the next run sends them
      130  interrupted: once, running requests finish; twice, at once
    """
}
