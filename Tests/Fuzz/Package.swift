// swift-tools-version: 6.2
import PackageDescription

// The parsers of header fields under libFuzzer, which the toolchain brings on Linux: `make fuzz`. The sources are the
// library's own, by symbolic links, so that they are compiled with the fuzzer's counters.
let package = Package(
  name: "fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
  ],
  targets: [
    .target(name: "CHeadgate"),
    .target(
      name: "HeadgateThreads",
      dependencies: [
        "CHeadgate", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "FieldFuzz",
      dependencies: [
        "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
      ],
      swiftSettings: [.unsafeFlags(["-sanitize=fuzzer"])]),
    // The main function is the fuzzer's, and a target in Swift would bring one of its own.
    .executableTarget(
      name: "fuzz-fields", dependencies: ["FieldFuzz"], linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
