/// The number of one send in an outbox; later sends have greater ones.
package struct Ticket: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (left: Ticket, right: Ticket) -> Bool { left.number < right.number }
}
