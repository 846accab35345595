// swift-tools-version: 6.2
import PackageDescription

// A package that turns the trait on, for scripts/check-traits.sh: the contract suite with the trait's transport. The
// tests are the library's own, by symbolic links, so that none of its other targets is built.
let settings: [SwiftSetting] = [
  // The trait's definition in its own package.
  .define("AsyncHTTPClient"),
  .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "traits",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "headgate", path: "../..", traits: ["AsyncHTTPClient"]),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  ],
  targets: [
    .testTarget(
      name: "ContractTests",
      dependencies: [
        .product(name: "HeadgateAsyncHTTPClient", package: "headgate"),
        .product(name: "HeadgateCurl", package: "headgate"),
        .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateFlow", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "HeadgateTesting", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
        .product(name: "HeadgateURLSession", package: "headgate"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HeadgateAsyncHTTPClientTests",
      dependencies: [
        .product(name: "HeadgateAsyncHTTPClient", package: "headgate"),
        .product(name: "HeadgateCurl", package: "headgate"),
        .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "HeadgateTesting", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
