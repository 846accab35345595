// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "headgate", path: "../.."),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .executableTarget(
      name: "Service",
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ])
  ]
)
