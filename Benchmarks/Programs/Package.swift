// swift-tools-version: 6.2
import PackageDescription

// Headgate's side of the benchmarks: a separate package, so that the library's manifest does not mention it.
let package = Package(
  name: "headgate-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "headgate", path: "../.."), .package(name: "measure", path: "../Measure"),
    .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
  ],
  targets: [
    .executableTarget(
      name: "Bulk",
      dependencies: [
        "Extras", .product(name: "Measure", package: "measure"), .product(name: "HeadgateCurl", package: "headgate"),
        .product(name: "HeadgateDispatch", package: "headgate"),
      ]),
    .executableTarget(
      name: "Dispatching",
      dependencies: [
        "Extras", .product(name: "Measure", package: "measure"),
        .product(name: "HeadgateDispatch", package: "headgate"),
      ]),
    .target(
      name: "Extras",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"), .product(name: "Logging", package: "swift-log"),
      ]),
    .executableTarget(
      name: "Flow",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateFlow", package: "headgate"),
      ]),
    .executableTarget(
      name: "Pools",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateThreads", package: "headgate"),
      ]),
    .executableTarget(
      name: "Queues",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateThreads", package: "headgate"),
      ]),
    .executableTarget(
      name: "Streams",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "Headgate", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
      ]),
    .executableTarget(
      name: "ThreadCosts",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateThreads", package: "headgate"),
      ]),
    .executableTarget(
      name: "Threads",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateDispatch", package: "headgate"),
      ]),
    .executableTarget(
      name: "Timers",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateThreads", package: "headgate"),
      ]),
    .executableTarget(
      name: "Waiting",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "HeadgateDispatch", package: "headgate"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
