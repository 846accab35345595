// swift-tools-version: 6.2
import PackageDescription

// The programs are independent of each other. Each is complete in its folder of Sources/. The front pages are those of
// the modules' documentation.
let package = Package(
  name: "Programs",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: [
    "BulkClient", "Chat", "FlowFrontPage", "FolderTransport", "StackActor", "ThreadsFrontPage", "TokenBudget",
  ].map { name in
    .executableTarget(
      name: name,
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateFlow", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
      ])
  }
)
