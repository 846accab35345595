/// A request's name in the scheduler: the place of its node, and a generation that tells it from a later one there.
package struct Ticket: Hashable, Sendable {
  let slot: Int32
  let generation: UInt32
}
