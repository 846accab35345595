// swift-tools-version: 6.2
import PackageDescription

// HeadgateThreads again, by symbolic links, so that a program can write log lines that only the library itself can
// write.
let package = Package(
  name: "log-lines",
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
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
      ]),
    .executableTarget(name: "LogLines", dependencies: ["HeadgateThreads"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
