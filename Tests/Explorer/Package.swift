// swift-tools-version: 6.2
import PackageDescription

// HeadgateThreads built once more, with a lock, a parker and atomic words whose every access is a step that a test
// chooses: `swift test --package-path Tests/Explorer`. The sources are the library's own, by symbolic links.
let package = Package(
  name: "explorer",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
  ],
  targets: [
    .target(name: "CHeadgate"),
    .target(
      name: "HeadgateThreads",
      dependencies: [
        "CHeadgate", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: [
        .define("HEADGATE_EXPLORE"), .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
    .testTarget(name: "ExplorerTests", dependencies: ["HeadgateThreads", "CHeadgate"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
