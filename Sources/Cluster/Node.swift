/// One process of a cluster. A process that is started again is another node.
///
/// The number is 63 random bits and not a sequence: a database that has lost a part of its history
/// would give a number out twice, and rows are recognised by it.
package struct Node: Hashable, Sendable {
    /// From 1 on, so that 0 means no node in a column or on a link.
    package let number: Int64

    package init(number: Int64) { self.number = number }

    package init(using randomness: inout some RandomNumberGenerator) {
        number = Int64.random(in: 1 ... .max, using: &randomness)
    }
}
