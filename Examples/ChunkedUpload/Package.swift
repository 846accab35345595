// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ChunkedUpload",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: [
    .executableTarget(
      name: "ChunkedUpload",
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateFlow", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
      ])
  ]
)
