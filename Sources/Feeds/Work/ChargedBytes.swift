/// Bytes of which a client holds its ``WorkCharge`` as long as this object exists.
package final class ChargedBytes {
    /// Bytes that several clients may hold.
    package final class Shared {
        let bytes: [UInt8]
        /// The bytes that are sent before them.
        let head: [UInt8]
        /// Nil if they are few.
        fileprivate let counted: WorkBytes?

        fileprivate init(_ bytes: [UInt8], after head: [UInt8], _ counted: WorkBytes?) {
            self.bytes = bytes
            self.head = head
            self.counted = counted
        }

        /// - Parameter client: that holds the bytes from now on.
        package func held(by client: @autoclosure () -> WorkClient?) throws(WorkOverload)
            -> ChargedBytes
        {
            guard let counted else { return ChargedBytes(self, nil) }
            return ChargedBytes(self, try counted.charge(for: client()))
        }
    }

    package let shared: Shared
    /// Nil if they are few.
    let charge: WorkCharge?

    private init(_ shared: Shared, _ charge: WorkCharge?) {
        self.shared = shared
        self.charge = charge
    }

    package convenience init(_ bytes: [UInt8], after head: [UInt8] = [], _ charge: WorkCharge?) {
        self.init(Shared(bytes, after: head, charge?.bytes), charge)
    }

    package var bytes: [UInt8] { shared.bytes }
    var head: [UInt8] { shared.head }

    /// The same bytes after others, without a copy.
    package func framed(after head: [UInt8]) -> ChargedBytes {
        ChargedBytes(bytes, after: head, charge)
    }
}
