// swift-tools-version: 6.2
import PackageDescription

// A program that uses the core alone, for scripts/check-linkage.sh.
let package = Package(
  name: "linkage",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: [
    .executableTarget(name: "linkage", dependencies: [.product(name: "HeadgateDispatch", package: "headgate")])
  ],
  swiftLanguageModes: [.v6]
)
