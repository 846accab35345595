/// A page that shows a run in a browser: one file that asks for nothing from anywhere.
///
/// All that comes from servers and lists is in the data, which the script puts into text and never into markup. The
/// page's policy lets no script run but its own, whose hash it has, and lets nothing be loaded.
package enum RunPage {
  /// SHA-256 of `style` and `script`, by Base64: scripts/report-hashes.sh writes them, and a test compares.
  static let styleHash = "zNzE6aQNl42xfG5zJ60rN0BvnhaFITOvlRsc7gr0bLQ="
  static let scriptHash = "V7dFQV4INqwM1NirqT52WLVZmHSMuXl+Tp9H80GXBp0="

  static var style: [UInt8] { PackageResources.page_css }

  /// One script of all files, with names of its own.
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
