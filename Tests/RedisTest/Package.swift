// swift-tools-version: 6.2
import PackageDescription

// A program's package that turns the trait Redis on, with the tests of the module, for scripts/check-redis.sh. They are
// outside the library's package, so that its plain build knows nothing of Redis.
let package = Package(
  name: "redis",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..", traits: ["Redis"])],
  targets: [
    .executableTarget(
      name: "worker",
      dependencies: [
        .product(name: "HeadgateDispatch", package: "headgate"), .product(name: "HeadgateRedis", package: "headgate"),
      ]),
    .testTarget(
      name: "HeadgateRedisTests",
      dependencies: [
        "worker",
        .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateGate", package: "headgate"),
        .product(name: "HeadgateRedis", package: "headgate"),
        .product(name: "HeadgateTesting", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
      ],
      swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]),
  ],
  swiftLanguageModes: [.v6]
)
