/// A request's name in the scheduler: the place of its node, and a generation that tells it from a later one there.
///
/// One that runs on a loan has no node; its name begins with the loan's number. See `Loan`.
package struct Ticket: Hashable, Sendable {
  let slot: Int32
  let generation: UInt32

  /// The names of a loan's borrowers: the sign, ten bits for the loan, twenty for the borrower's place.
  static let loans = 1 << 10
  static let borrowers = 1 << 20

  init(slot: Int32, generation: UInt32) { (self.slot, self.generation) = (slot, generation) }

  init(loan: Int, borrower: Int, generation: UInt32) {
    self.init(slot: .min | Int32(loan) << 20 | Int32(borrower), generation: generation)
  }

  /// Nobody's.
  static let none = Ticket(slot: .max, generation: .max)

  /// The number of the loan that it began with; nil for one of the scheduler's own.
  var loan: Int? { slot < 0 ? Int(slot >> 20) & (Self.loans - 1) : nil }

  /// The place among the loan's borrowers.
  var borrower: Int { Int(slot) & (Self.borrowers - 1) }
}
