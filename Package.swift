// swift-tools-version: 6.2
import PackageDescription

// The umbrella's transport: URLSession on Apple's systems, libcurl elsewhere.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

// Only this trait needs NIO.
let asyncHTTPClient: TargetDependencyCondition? = .when(traits: ["AsyncHTTPClient"])

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "headgate",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18)],
  products: [
    .library(name: "Headgate", targets: ["Headgate"]),
    .library(name: "HeadgateThreads", targets: ["HeadgateThreads"]),
    .library(name: "HeadgateFlow", targets: ["HeadgateFlow"]),
    .library(name: "HeadgateGate", targets: ["HeadgateGate"]),
    .library(name: "HeadgateDispatch", targets: ["HeadgateDispatch"]),
    .library(name: "HeadgateCurl", targets: ["HeadgateCurl"]),
    .library(name: "HeadgateURLSession", targets: ["HeadgateURLSession"]),
    .library(name: "HeadgateAsyncHTTPClient", targets: ["HeadgateAsyncHTTPClient"]),
    .library(name: "HeadgateSharing", targets: ["HeadgateSharing"]),
    .library(name: "HeadgateRedis", targets: ["HeadgateRedis"]),
    .library(name: "HeadgateInstruments", targets: ["HeadgateInstruments"]),
    .library(name: "HeadgateOrigin", targets: ["HeadgateOrigin"]),
    .library(name: "HeadgateTesting", targets: ["HeadgateTesting"]),
    .executable(name: "headgate", targets: ["HeadgateTool"]),
    .executable(name: "headgate-demo", targets: ["HeadgateDemo"]),
  ],
  traits: [
    .default(enabledTraits: []),
    .trait(
      name: "AsyncHTTPClient",
      description: "HeadgateAsyncHTTPClient, limits for async-http-client. Without it NIO is not even fetched."),
    .trait(name: "Redis", description: "HeadgateRedis, limits that many machines share. It fetches nothing."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    // For HeadgateInstruments only.
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
    // For HeadgateAsyncHTTPClient only, and fetched only with the trait.
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
  ],
  targets: [
    .target(name: "CHeadgate"),
    // The C library, and the system calls that several modules make.
    .target(name: "HeadgateLibC", dependencies: ["CHeadgate"], swiftSettings: strict),
    .target(
      name: "HeadgateThreads",
      dependencies: [
        "CHeadgate", "HeadgateLibC",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .target(
      name: "HeadgateFlow",
      dependencies: [
        "CHeadgate", "HeadgateLibC", "HeadgateThreads", .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: strict),
    .target(
      name: "HeadgateGate",
      dependencies: [
        "CHeadgate", "HeadgateFlow", "HeadgateLibC", "HeadgateThreads",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict
    ),
    .target(
      name: "HeadgateDispatch",
      dependencies: [
        "CHeadgate", "HeadgateFlow", "HeadgateGate", "HeadgateLibC", "HeadgateThreads",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
      ],
      swiftSettings: strict
    ),
    .systemLibrary(
      name: "CCurlSystem",
      pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"]), .yum(["libcurl-devel"]), .brew(["curl"])]
    ),
    .target(name: "CCurl", dependencies: ["CCurlSystem"], linkerSettings: [.linkedLibrary("z")]),
    .target(
      name: "HeadgateCurl",
      dependencies: [
        "CCurl", "HeadgateDispatch", "HeadgateLibC",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    .target(
      name: "HeadgateURLSession",
      dependencies: [
        "HeadgateDispatch", "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    .target(
      name: "HeadgateAsyncHTTPClient",
      dependencies: [
        "HeadgateDispatch", "HeadgateLibC", "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTPClient),
        .product(name: "NIOCore", package: "swift-nio", condition: asyncHTTPClient),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: asyncHTTPClient),
        .product(name: "NIOPosix", package: "swift-nio", condition: asyncHTTPClient),
      ],
      swiftSettings: strict
    ),
    .target(
      name: "Headgate",
      dependencies: [
        "HeadgateThreads", "HeadgateFlow", "HeadgateDispatch",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .target(name: "HeadgateCurl", condition: .when(platforms: [.linux])),
        .target(name: "HeadgateURLSession", condition: .when(platforms: applePlatforms)),
      ],
      swiftSettings: strict
    ),
    // Empty without the trait Redis.
    .target(
      name: "HeadgateRedis", dependencies: ["HeadgateGate", "HeadgateLibC", "HeadgateThreads"],
      swiftSettings: strict),
    .target(
      name: "HeadgateSharing", dependencies: ["HeadgateGate", "HeadgateLibC", "HeadgateThreads"],
      swiftSettings: strict),
    .target(
      name: "HeadgateInstruments",
      dependencies: [
        "HeadgateDispatch", "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: strict
    ),
    .target(name: "HeadgateOrigin", dependencies: ["HeadgateLibC", "HeadgateThreads"], swiftSettings: strict),
    .target(
      name: "HeadgateTesting",
      dependencies: [
        "HeadgateDispatch", "HeadgateOrigin",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    // Uses only HeadgateGate: its logs may come from other machines and other versions.
    .target(
      name: "HeadgateReport", dependencies: ["HeadgateGate"],
      resources: ["page.css", "elements.js", "charts.js", "lists.js", "waterfall.js", "page.js"].map {
        .embedInCode("Page/Script/\($0)")
      },
      swiftSettings: strict),
    .target(
      name: "HeadgateCommand",
      dependencies: [
        "CHeadgate", "HeadgateCurl", "HeadgateDispatch", "HeadgateFlow", "HeadgateLibC", "HeadgateOrigin",
        "HeadgateReport", "HeadgateSharing", "HeadgateThreads",
        .target(name: "HeadgateRedis", condition: .when(traits: ["Redis"])),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict
    ),
    .executableTarget(name: "HeadgateTool", dependencies: ["HeadgateCommand"], swiftSettings: strict),
    // The command with one more client in its demo, which needs all of Foundation.
    .executableTarget(name: "HeadgateDemo", dependencies: ["HeadgateCommand"], swiftSettings: strict),
    .testTarget(
      name: "HeadgateThreadsTests", dependencies: ["CHeadgate", "HeadgateThreads"], swiftSettings: strict),
    .testTarget(
      name: "HeadgateFlowTests", dependencies: ["HeadgateFlow", "HeadgateTesting", "HeadgateThreads"],
      swiftSettings: strict),
    .testTarget(name: "HeadgateOriginTests", dependencies: ["HeadgateOrigin"], swiftSettings: strict),
    .testTarget(
      name: "HeadgateSharingTests",
      dependencies: ["HeadgateDispatch", "HeadgateSharing", "HeadgateTesting", "HeadgateThreads"],
      swiftSettings: strict),
    .testTarget(
      name: "HeadgateGateTests", dependencies: ["HeadgateGate", "HeadgateTesting", "HeadgateThreads"],
      swiftSettings: strict),
    .testTarget(
      name: "HeadgateDispatchTests",
      dependencies: [
        "CHeadgate", "HeadgateDispatch", "HeadgateFlow", "HeadgateGate", "HeadgateTesting", "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    .testTarget(
      name: "HeadgateInstrumentsTests",
      dependencies: [
        "Headgate", "HeadgateDispatch", "HeadgateFlow", "HeadgateInstruments", "HeadgateOrigin", "HeadgateTesting",
        "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ],
      swiftSettings: strict
    ),
    .target(
      name: "CStallingResolver", path: "Tests/CStallingResolver",
      linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .testTarget(
      name: "HeadgateCurlTests",
      dependencies: [
        "CCurl", "CStallingResolver", "Headgate", "HeadgateCurl", "HeadgateDispatch", "HeadgateFlow", "HeadgateOrigin",
        "HeadgateTesting", "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    .testTarget(
      name: "ContractTests",
      dependencies: [
        "HeadgateCurl", "HeadgateDispatch", "HeadgateFlow", "HeadgateOrigin", "HeadgateTesting", "HeadgateThreads",
        "HeadgateURLSession",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    // The code that README.md, docs/ and the catalogs show.
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "Headgate", "HeadgateCurl", "HeadgateDispatch", "HeadgateFlow", "HeadgateInstruments", "HeadgateOrigin",
        "HeadgateSharing", "HeadgateTesting", "HeadgateThreads", "HeadgateURLSession",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    .testTarget(
      name: "HeadgateAsyncHTTPClientTests",
      dependencies: [
        "HeadgateAsyncHTTPClient", "HeadgateDispatch", "HeadgateOrigin", "HeadgateThreads",
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTPClient),
        .product(name: "NIOCore", package: "swift-nio", condition: asyncHTTPClient),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: asyncHTTPClient),
        .product(name: "NIOPosix", package: "swift-nio", condition: asyncHTTPClient),
      ],
      swiftSettings: strict
    ),
    .testTarget(
      name: "HeadgateReportTests", dependencies: ["HeadgateReport", "HeadgateTesting"], swiftSettings: strict),
    .testTarget(
      name: "HeadgateCommandTests",
      dependencies: [
        "HeadgateCommand", "HeadgateDispatch", "HeadgateOrigin", "HeadgateReport", "HeadgateSharing", "HeadgateTesting",
        "HeadgateThreads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
    // The fuzzer's conditions, without the fuzzer: `make fuzz`.
    .testTarget(
      name: "CorpusTests",
      dependencies: [
        "HeadgateCommand", "HeadgateCurl", "HeadgateDispatch", "HeadgateGate", "HeadgateSharing", "HeadgateTesting",
        "HeadgateThreads",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      exclude: ["Inputs/Entry.swift", "Inputs/Replies.swift"],
      swiftSettings: strict
    ),
    .testTarget(
      name: "AcceptanceTests",
      dependencies: [
        "HeadgateCommand", "HeadgateCurl", "HeadgateDispatch", "HeadgateOrigin", "HeadgateTesting", "HeadgateThreads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict
    ),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)

// The command's code is a product for Tests/Fuzz alone: `make fuzz` sets the variable.
if Context.environment["HEADGATE_FUZZ"] != nil {
  package.products.append(.library(name: "HeadgateCommand", targets: ["HeadgateCommand", "HeadgateReport"]))
}

// Builds of the libraries and some of their tests, for the sanitizers and release mode: `.ci/run` names the test targets.
// Without the rest these builds take half the time.
if let kept = Context.environment["HEADGATE_ONLY_TESTS"]?.split(separator: " ").map(String.init) {
  let command = ["HeadgateReport", "HeadgateCommand", "HeadgateTool", "HeadgateDemo"]
  package.targets.removeAll { command.contains($0.name) || ($0.type == .test && !kept.contains($0.name)) }
  package.products.removeAll { $0.name.starts(with: "headgate") }
}
