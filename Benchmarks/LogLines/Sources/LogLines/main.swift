// LogLines NUMBER: comes by so many lines of the log whose source is off, each of which would be made of two numbers.
// What one costs is the difference of two runs (Scripts/log.sh).
import HeadgateThreads

let lines = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 0
for number in 0..<lines {
  HeadgateLog.note(.queue, "line \(number) of \(lines)")
}
