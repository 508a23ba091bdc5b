/// Bytes that a ``WorkBudget`` counts as long as this object exists.
package final class ChargedBytes {
    package let bytes: [UInt8]
    /// The bytes that are sent before them.
    let head: [UInt8]
    /// Nil if they are few.
    private let charge: WorkCharge?

    init(_ bytes: [UInt8], after head: [UInt8] = [], _ charge: WorkCharge?) {
        self.bytes = bytes
        self.head = head
        self.charge = charge
    }

    /// The same bytes, which are not copied, after others.
    func framed(after head: [UInt8]) -> ChargedBytes { ChargedBytes(bytes, after: head, charge) }
}
