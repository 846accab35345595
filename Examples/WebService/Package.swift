// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "WebService",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "headgate", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .executableTarget(
      name: "WebService",
      dependencies: [
        .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateFlow", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ])
  ]
)
