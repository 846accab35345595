import HeadgateThreads

func sum() async throws -> Int {
  let numbers = try BlockingQueue<Int>(name: "numbers", capacity: 10)
  let consumer = try ManagedThread.spawn(name: "consumer") {
    var sum = 0
    for number in try numbers.elements { sum += number }
    return sum
  }
  for number in 1...100 { try await numbers.put(number) }
  numbers.close()
  return try await consumer.value()
}

print("the sum is", try await sum())
