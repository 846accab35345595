// Two machines with three programs each fetch from one server, and together never make more than four requests at once.
// Here, the machines are two groups of processes, which have only the address of a Redis server in common.

import Foundation
import HeadgateOrigin
import HeadgateRedis

if CommandLine.arguments.count == 4 {
  // This process is a program of one of the machines. The paths of its URLs have the name of its share.
  let (redis, server, share) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
  try await crawl((0..<20).map { "\(server)/delay/20?\(share)-\($0)" }, redis: redis)
  exit(0)
}

let redis = try RedisServer()
defer { redis.stop() }
// Nothing holds a permit yet, so the first program need not wait to find out what others hold.
try RedisNamespace(redis.url, "crawl").configure(version: 1)
let origin = try Origin()
let programs = try ["a", "b"].flatMap { machine in
  try (1...3).map { number in
    let program = Process()
    program.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    program.arguments = [redis.url, "http://127.0.0.1:\(origin.port)", "\(machine)\(number)"]
    try program.run()
    return program
  }
}
for program in programs { program.waitUntilExit() }
let counts = origin.counts()
print("programs that failed: \(programs.count { $0.terminationStatus != 0 })")
print("the server has received \(counts.received) requests, at most \(counts.peakRequests) at once")
