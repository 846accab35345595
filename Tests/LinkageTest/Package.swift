// swift-tools-version: 6.2
import PackageDescription

// Programs that use the core alone, and one that does not, for scripts/check-linkage.sh.
let package = Package(
  name: "linkage",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: [
    .executableTarget(name: "linkage", dependencies: [.product(name: "HeadgateDispatch", package: "headgate")]),
    .executableTarget(name: "gatelinkage", dependencies: [.product(name: "HeadgateGate", package: "headgate")]),
    .executableTarget(name: "flowlinkage", dependencies: [.product(name: "HeadgateFlow", package: "headgate")]),
    .executableTarget(
      name: "instrumentlinkage", dependencies: [.product(name: "HeadgateInstruments", package: "headgate")]),
  ],
  swiftLanguageModes: [.v6]
)
