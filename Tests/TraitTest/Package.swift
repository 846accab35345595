// swift-tools-version: 6.2
import PackageDescription

// A package that turns the trait on, for scripts/check-traits.sh. The tests are the library's own, by a symbolic link, so
// that none of its other targets is built.
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
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
  ],
  targets: [
    .testTarget(
      name: "HeadgateAsyncHTTPClientTests",
      dependencies: [
        .product(name: "HeadgateAsyncHTTPClient", package: "headgate"),
        .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateOrigin", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: settings)
  ],
  swiftLanguageModes: [.v6]
)
