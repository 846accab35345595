// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "TwoMachines",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..", traits: ["Redis"])],
  targets: [
    .executableTarget(
      name: "TwoMachines",
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "HeadgateRedis", package: "headgate"),
      ])
  ]
)
