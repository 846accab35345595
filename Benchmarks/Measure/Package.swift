// swift-tools-version: 6.2
import PackageDescription

// The measuring code of all Swift clients of the benchmarks.
let package = Package(
  name: "measure",
  platforms: [.macOS(.v15)],
  products: [.library(name: "Measure", targets: ["Measure"])],
  targets: [.target(name: "Measure")],
  swiftLanguageModes: [.v6]
)
