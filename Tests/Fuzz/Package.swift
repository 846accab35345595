// swift-tools-version: 6.2
import PackageDescription

// The parsers of external data, under libFuzzer, which is part of the toolchain on Linux: `make fuzz`. All modules are
// compiled with the fuzzer's counters, by the flags that the Makefile passes.
let package = Package(
  name: "fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "headgate", path: "../..", traits: ["Redis"]),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
  ],
  targets: [
    .target(
      name: "Inputs",
      dependencies: [
        .product(name: "HeadgateCommand", package: "headgate"),
        .product(name: "HeadgateCurl", package: "headgate"),
        .product(name: "HeadgateDispatch", package: "headgate"),
        .product(name: "HeadgateGate", package: "headgate"),
        .product(name: "HeadgateRedis", package: "headgate"),
        .product(name: "HeadgateSharing", package: "headgate"),
        .product(name: "HeadgateThreads", package: "headgate"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    // The main function is the fuzzer's; a target in Swift would add its own.
    .executableTarget(name: "fuzz", dependencies: ["Inputs"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
