/// Bytes that a ``WorkBudget`` counts as long as this object exists.
package final class ChargedBytes {
    package let bytes: [UInt8]
    /// Nil if they are few.
    private let charge: WorkCharge?

    init(_ bytes: [UInt8], _ charge: WorkCharge?) {
        self.bytes = bytes
        self.charge = charge
    }

    /// Replaces the bytes by a form of them that is about as large. The earlier bytes are not used
    /// again.
    func framed(
        as bytes: [UInt8], in table: SessionTable, for token: UInt64
    ) throws(WorkOverload) -> ChargedBytes {
        ChargedBytes(
            bytes,
            try table.adjust(charge, to: bytes.count, for: table.output.client(of: token)))
    }
}
