// swift-tools-version: 6.2
import PackageDescription

// The library's core compiled as for the thread sanitizer, but linked with a simulated machine (CExplorer) in place of
// the sanitizer's library: each access to an atomic word is a step that a test can schedule, and each access to plain
// memory is recorded. See `make explore`. The sources are the library's own, with faults planted by
// Tests/Explorer/plant, all of them disabled except the one that a test enables.
let explored: [SwiftSetting] = [
  .define("HEADGATE_EXPLORE"), .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .unsafeFlags(["-sanitize=thread", "-Xcc", "-DHEADGATE_EXPLORE"]),
]

let package = Package(
  name: "explorer",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
  ],
  targets: [
    .target(
      name: "CHeadgate", exclude: ["wait_linux.c", "processor.c"], cSettings: [.define("HEADGATE_EXPLORE")]),
    .target(name: "HeadgateLibC", dependencies: ["CHeadgate"]),
    .target(name: "CExplorer", cSettings: [.unsafeFlags(["-O2"])]),
    .target(
      name: "HeadgateThreads",
      dependencies: [
        "CHeadgate", "HeadgateLibC",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: ".build/planted/HeadgateThreads", swiftSettings: explored),
    .target(
      name: "HeadgateFlow",
      dependencies: [
        "CHeadgate", "HeadgateLibC", "HeadgateThreads", .product(name: "DequeModule", package: "swift-collections"),
      ],
      path: ".build/planted/HeadgateFlow", swiftSettings: explored),
    .target(
      name: "HeadgateGate",
      dependencies: [
        "CHeadgate", "HeadgateFlow", "HeadgateLibC", "HeadgateThreads",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: ".build/planted/HeadgateGate", swiftSettings: explored),
    .target(
      name: "HeadgateDispatch",
      dependencies: [
        "CHeadgate", "HeadgateFlow", "HeadgateGate", "HeadgateLibC", "HeadgateThreads",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
      ],
      path: ".build/planted/HeadgateDispatch", swiftSettings: explored),
    // Optimized: the library's generic code is specialized here, so its accesses to elements are recorded too.
    .target(
      name: "Programs", dependencies: ["HeadgateThreads", "CHeadgate"],
      swiftSettings: explored + [.unsafeFlags(["-O"])]),
    .target(
      name: "Exploring", dependencies: ["CExplorer", "HeadgateThreads"],
      swiftSettings: [.unsafeFlags(["-O", "-Xcc", "-DHEADGATE_EXPLORE"])]),
    .testTarget(
      name: "ExplorerTests",
      dependencies: [
        "Exploring", "HeadgateThreads", "HeadgateFlow", "HeadgateGate", "HeadgateDispatch", "CHeadgate", "CExplorer",
        "Programs",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      // Not optimized: otherwise the library's generic code would be specialized here, where it is not recorded.
      swiftSettings: [.unsafeFlags(["-Xcc", "-DHEADGATE_EXPLORE"])]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
