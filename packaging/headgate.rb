# A Homebrew formula: not tried where it was written, and nothing has run on macOS yet. The address and the checksum are the
# owner's to fill in, when a version is tagged (RELEASING.md).
class Headgate < Formula
  desc "Fetch lists of URLs without exceeding the limits of servers"
  homepage "https://headgate.invalid"
  url "https://headgate.invalid/headgate-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "pkgconf" => :build
  # Swift 6.2.
  depends_on xcode: ["26.0", :build]
  # libcurl 7.80 or later, except 8.16.0.
  depends_on "curl"
  depends_on macos: :sequoia
  uses_from_macos "python" => :build
  uses_from_macos "swift" => :build
  uses_from_macos "zlib"

  def install
    # Homebrew's own sandbox takes the place of SwiftPM's.
    args = %w[--disable-sandbox --configuration release --product headgate]
    args << "--static-swift-stdlib" if OS.linux?
    system "swift", "build", *args
    bin.install ".build/release/headgate"
    generate_completions_from_executable(bin/"headgate", "--generate-completion-script")
    man1.mkpath
    system "python3", "scripts/manual.py", bin/"headgate", man1
  end

  test do
    assert_match "headgate #{version} ", shell_output("#{bin}/headgate --version")
    # The command's own test server, which ends when its input ends.
    IO.popen([bin/"headgate", "origin", "--limit", "2"], "r+") do |origin|
      port = origin.gets[/\d+/]
      (testpath/"urls.txt").write("http://127.0.0.1:#{port}/bytes/1000\n")
      system bin/"headgate", "fetch", "-i", "urls.txt", "-P", "out"
      origin.close_write
    end
    assert_equal 1000, (testpath/"out").children.sum(&:size)
  end
end
