// LogLines NUMBER: executes that many log calls whose source is off, each with two numbers to format. The cost of one
// is the difference between two runs (Scripts/log.sh).
import HeadgateThreads

let lines = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 0
for number in 0..<lines {
  HeadgateLog.note(.queue, "line \(number) of \(lines)")
}
