/// A closure in a struct: a bare function type in raw memory is miscompiled in release builds of Swift 6.3, and costs an
/// allocation wherever it passes through generic code, such as a lock's.
// Unchecked: a closure is sent to one place, which calls or releases it.
package struct Closure: @unchecked Sendable {
  let body: () throws -> Void

  package init(_ body: @escaping () throws -> Void) { self.body = body }

  package func callAsFunction() throws { try body() }
}
