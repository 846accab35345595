// swift-tools-version: 6.2
import PackageDescription

// What all Swift clients of the benchmarks measure with.
let package = Package(
  name: "measure",
  platforms: [.macOS(.v15)],
  products: [.library(name: "Measure", targets: ["Measure"])],
  targets: [.target(name: "Measure")],
  swiftLanguageModes: [.v6]
)
