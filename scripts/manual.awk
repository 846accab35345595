# Arranges a manual page that swift-argument-parser has generated: `awk -v pages="headgate headgate-fetch" -f manual.awk`.
# The examples, the table of exit statuses and the options get sections of their own, and references to other pages have
# the names under which these are installed.

# A line that begins with a dot or an apostrophe would be a troff request.
function literal(text) { return (text ~ /^[.']/ ? "\\&" : "") text }

function out(text) {
  if (needsParagraph && text !~ /^\.(It|El|Bl|Sh)/) print ".Pp"
  needsParagraph = 0
  print text
}

/^\.Dt / { name = tolower($2); gsub(/\./, "-", name); print ".Dt " toupper(name) " 1"; next }
/^\.Os$/ { print ".Os Headgate"; next }
/^\.Nd / { sub(/\."$/, "\""); print; next }
/^\.Xr / || /^\.Sh "SEE ALSO"/ { next }
/^\.Sh "EXIT STATUS"/ { part = "end"; next }
/^\.Sh DESCRIPTION/ { part = "text"; next }
part == "end" { next }

part == "" { print; next }
/^EXAMPLES$/ { part = "examples"; next }
/^EXIT STATUS$/ { part = "statuses"; next }
/^\.Bl / && part != "options" { part = "options"; needsParagraph = 0; print ".Sh OPTIONS" }
/^$/ || /^\.Pp$/ { needsParagraph = 1; next }
part == "examples" { sub(/^  /, ""); examples = examples literal($0) "\n"; next }
part == "statuses" && !/^ *[0-9]/ { sub(/^ */, ""); statuses = statuses literal($0) "\n"; next }
part == "statuses" { status = $1; sub(/^ *[0-9]+ */, ""); statuses = statuses ".It " status "\n" literal($0) "\n"; next }
part == "text" && !isDescribed { isDescribed = 1; print ".Sh DESCRIPTION" }
{ out($0) }

END {
  print ".Sh \"EXIT STATUS\""
  if (statuses == "") print ".Ex -std headgate"
  else printf ".Bl -tag -width 4n -compact\n%s.El\n", statuses
  if (examples != "") printf ".Sh EXAMPLES\n.Bd -literal\n%s.Ed\n", examples
  count = split(pages, all, " ")
  for (place = 1; place <= count; place += 1) if (all[place] != name) others[++found] = all[place]
  if (found) print ".Sh \"SEE ALSO\""
  for (place = 1; place <= found; place += 1) print ".Xr " others[place] " 1" (place < found ? " ," : "")
}
