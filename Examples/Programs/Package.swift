// swift-tools-version: 6.2
import PackageDescription

// Each program stands alone: its folder in Sources/ is all there is to it.
let package = Package(
  name: "Programs",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: ["BulkClient", "Chat", "FolderTransport", "StackActor", "TokenBudget"].map { name in
    .executableTarget(
      name: name,
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateFlow", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
      ])
  }
)
