import HeadgateThreads

/// An image can't be copied: only the thread that took it from the queue has it.
struct Image: ~Copyable, Sendable {
  let number: Int
  let pixels: [UInt8]

  init(number: Int) {
    self.number = number
    pixels = [UInt8](repeating: UInt8(number % 256), count: 64 * 64)
  }
}

/// A slideshow of 500 images: one thread makes them, at most 10 ahead of the thread that shows them.
func slideshow() throws {
  let images = try BlockingQueue<Image>(name: "images", capacity: 10)

  let maker = try ManagedThread.spawn(name: "maker") {
    for number in 1...500 {
      switch images.put(Image(number: number)) {
      case .accepted: continue
      case .refused(let image, let reason):
        print("image \(image.number) is not shown: \(reason)")
        return
      }
    }
    images.close()
  }

  var (shown, mostAhead, sum) = (0, 0, 0)
  do throws(WaitError) {
    while true {
      let image = try images.take(until: .after(.seconds(10)))
      mostAhead = max(mostAhead, images.count)
      sum += image.pixels.reduce(0) { $0 + Int($1) }
      shown += 1
    }
  } catch {
    print("shown \(shown) images, checksum \(sum); the end: \(error.code)")
    print("never more than 10 were ahead: \(mostAhead <= 10)")
  }
  try maker.join()
}
