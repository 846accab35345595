/// A page that shows a run in a browser: one file that loads nothing.
///
/// All text from servers and lists is in the data, which the script inserts as text, never as markup. The page's
/// Content-Security-Policy allows only its own script, by its hash, and no loading.
package enum RunPage {
  /// SHA-256 of `style` and `script` in Base64, written by scripts/report-hashes.sh and checked by a test.
  static let styleHash = "zNzE6aQNl42xfG5zJ60rN0BvnhaFITOvlRsc7gr0bLQ="
  static let scriptHash = "vrpUpZXYGERv+NPbawnwgRtJ6NlGtXwUq71GX1cQtj4="

  static var style: [UInt8] { PackageResources.page_css }

  /// All files as one script with its own scope.
  static var script: [UInt8] {
    var script = Array("'use strict';{\n".utf8)
    script += PackageResources.elements_js
    script += PackageResources.charts_js
    script += PackageResources.lists_js
    script += PackageResources.waterfall_js
    script += PackageResources.page_js
    script += "}\n".utf8
    return script
  }

  /// The bytes of the page. O(n) in the rows of the run.
  package static func bytes(_ run: RunSummary) -> [UInt8] {
    var writer = JSONWriter()
    PageData.write(run, to: &writer)
    var page = Array(head.utf8)
    page += style
    page += "</style>\n</head>\n<body>\n<main id=\"page\"><p>This page needs JavaScript to draw.</p></main>\n".utf8
    page += "<script type=\"application/json\" id=\"data\">".utf8
    page += writer.bytes
    page += "</script>\n<script>".utf8
    page += script
    page += "</script>\n</body>\n</html>\n".utf8
    return page
  }

  private static let head = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-\(styleHash)'; \
    script-src 'sha256-\(scriptHash)'; base-uri 'none'; form-action 'none'">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="referrer" content="no-referrer">
    <meta name="color-scheme" content="light dark">
    <title>Headgate report</title>
    <style>
    """
}
