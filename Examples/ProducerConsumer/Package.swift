// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ProducerConsumer",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "headgate", path: "../..")],
  targets: [
    .executableTarget(
      name: "ProducerConsumer",
      dependencies: [.product(name: "HeadgateThreads", package: "headgate")]
    )
  ]
)
