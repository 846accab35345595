// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "peers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "measure", path: "../../Measure"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "ahc",
      dependencies: [
        .product(name: "Measure", package: "measure"), .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]
    ),
    .executableTarget(name: "urlsession", dependencies: [.product(name: "Measure", package: "measure")]),
    .executableTarget(name: "operationqueue", dependencies: [.product(name: "Measure", package: "measure")]),
    .executableTarget(name: "gcdthreads"),
    .executableTarget(
      name: "pools",
      dependencies: [.product(name: "Measure", package: "measure"), .product(name: "NIOPosix", package: "swift-nio")]),
    .executableTarget(
      name: "queues",
      dependencies: [
        .product(name: "Measure", package: "measure"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
    .executableTarget(name: "timers", dependencies: [.product(name: "Measure", package: "measure")]),
  ],
  swiftLanguageModes: [.v6]
)
