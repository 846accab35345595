/// The state of a request.
enum NodeState: UInt8, Sendable {
  /// The place is free. -> waiting
  case free
  /// It waits in its end-point's lane. -> granted (a permit is free), free (withdrawn)
  case waiting
  /// It holds a permit, and its owner has not been notified yet. -> running (notified), free (withdrawn before)
  case granted
  /// Its owner runs it. -> ending (withdrawn), waiting (moved to another end-point), free (finished)
  case running
  /// Its owner was asked to end it. The permit is held until the exchange has ended. -> free (finished)
  case ending
}

/// One request. It is in one list at a time: that of its lane while it waits, that of grants until its owner is
/// notified.
struct Node<Item: Sendable>: Sendable {
  var item: Item?
  // The time of its first submission in nanoseconds, increased if necessary to be later than all earlier ones.
  var age: UInt64 = 0
  // Its age plus the offset for its priority: the lower rank is served first.
  var rank: UInt64 = 0
  var generation: UInt32 = 0
  var endPoint: Int32 = -1
  var next: Int32 = -1
  var previous: Int32 = -1
  // Its position in the heap beside its lane's lists, or -1.
  var returning: Int32 = -1
  // Its position among the requests that may be displaced (see SheddingOrder), or -1.
  var shedding: Int32 = -1
  // Its position among the callers held because the queue is full, or -1.
  var held: Int32 = -1
  // Its place in the table of requests that need more than a permit or were counted by a limit on starts, or -1.
  var demand: Int32 = -1
  // Its place in the table of meters, from when it waits until its waits are taken out, or -1.
  var meter: Int32 = -1
  var state = NodeState.free
  var lane = RequestLane.short
  var priority = RequestPriority.normal
}

/// All requests, in reusable places. Nodes are linked by index, so every list operation is O(1).
struct NodeTable<Item: Sendable>: Sendable {
  private(set) var nodes: [Node<Item>] = []
  private var firstFree: Int32 = -1
  private(set) var count = 0
  // The generation of a new place: higher than every generation of the places that were freed.
  private var firstGeneration: UInt32 = 0

  subscript(slot: Int32) -> Node<Item> {
    _read { yield nodes[Int(slot)] }
    _modify { yield &nodes[Int(slot)] }
  }

  mutating func insert(
    _ item: Item, _ lane: RequestLane, _ priority: RequestPriority, endPoint: Int32, age: UInt64, rank: UInt64
  ) -> Int32 {
    count += 1
    let slot: Int32
    if firstFree >= 0 {
      slot = firstFree
      firstFree = nodes[Int(slot)].next
    } else {
      slot = Int32(nodes.count)
      nodes.append(Node(generation: firstGeneration))
    }
    nodes[Int(slot)].item = item
    nodes[Int(slot)].age = age
    nodes[Int(slot)].rank = rank
    nodes[Int(slot)].priority = priority
    nodes[Int(slot)].endPoint = endPoint
    nodes[Int(slot)].lane = lane
    nodes[Int(slot)].state = .waiting
    nodes[Int(slot)].next = -1
    return slot
  }

  /// Frees a place and returns its item, which the caller releases outside the lock.
  mutating func remove(_ slot: Int32) -> Item? {
    let item = nodes[Int(slot)].item.take()
    nodes[Int(slot)].state = .free
    nodes[Int(slot)].generation &+= 1
    nodes[Int(slot)].next = firstFree
    firstFree = slot
    count -= 1
    return item
  }

  /// Frees memory when no request is alive. Generations continue, so that old tickets stay invalid.
  mutating func shrinkIfEmpty() {
    guard count == 0, nodes.count > 4096 else { return }
    firstGeneration = nodes.reduce(firstGeneration) { max($0, $1.generation) } &+ 1
    nodes = []
    firstFree = -1
  }

  func ticket(_ slot: Int32) -> Ticket { Ticket(slot: slot, generation: nodes[Int(slot)].generation) }

  func slot(of ticket: Ticket) -> Int32? {
    guard ticket.slot >= 0, Int(ticket.slot) < nodes.count,
      nodes[Int(ticket.slot)].generation == ticket.generation, nodes[Int(ticket.slot)].state != .free
    else { return nil }
    return ticket.slot
  }
}
