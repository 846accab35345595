/// The long part of `headgate call --help`.
enum CallHelp {
  static let text = """
    {name} stands for a field of the row, in --url, -H, --json, --data and --idempotency-key: {address.city} for one \
    inside another, {items.0} for an item of an array, {"First name"} for any other name. In --url values are \
    percent-encoded and stay within the path or the query. In --json a field is inserted as the JSON value that it \
    is, within a string as text. {name:url} is percent-encoded text, and {name:json} takes a text for JSON, such as \
    a number from CSV. {{ is a literal brace. A row without such a field is an error, and not sent.

    A result is a JSON object: key (which row it is), outcome, error, line, row, method, url, status, headers, body \
    (body_text and body_base64 for what is not JSON), attempts, message, times. The outcome is ok (status 2xx), \
    failed, not_sent, or unknown: the row was sent, may not be sent twice, and no whole answer came. Redirects are \
    not followed: their status is the result.

    With --session a run can end at any moment, and the same command goes on. A row with a result is not sent again. \
    A row that was under way when the run was killed is sent again with the same key, if --idempotency-key is given \
    or its method may be repeated (GET, HEAD, OPTIONS, PUT, DELETE); any other becomes a result with the outcome \
    unknown. Which row it is, is told by its content and not by its line: the list may be shuffled and added to.

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
      headgate call -i rows.ndjson --url 'https://example.com/find?q={query}' \\
        | jq .body

    EXIT STATUS
      0    all rows are ok
      1    failures of more than one of the classes below
      2    a wrong option or argument, or rows that can't be sent
      3    files: the rows, the results, the session, the disk; no threads left
      4    network: names, connections, broken responses
      5    TLS
      6    timed out
      8    HTTP errors: a status that is not 2xx
      9    rows whose outcome is unknown, whatever else failed
      130  interrupted; once: what runs is finished, twice: at once
    """
}
