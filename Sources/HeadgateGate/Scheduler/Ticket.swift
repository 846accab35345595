/// The identity of a request in the scheduler: the place of its node, and a generation that distinguishes it from later
/// requests at that place.
package struct Ticket: Hashable, Sendable {
  let slot: Int32
  let generation: UInt32
}
