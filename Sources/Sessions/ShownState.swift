/// The large state that was encoded last on a loop, shared by all who read it while it is current.
///
/// Why one: it bounds what is kept for nobody to one state for each loop, until the next tick; those
/// who read at the same time mostly read the same session.
struct ShownState {
    /// Smaller ones are encoded anew: that costs less than persistence them is worth.
    static let smallestBytes = 16 << 10

    private let incarnation: UInt64
    private let number: UInt64
    private let bytes: [UInt8]

    /// - Parameter number: the session's last record when it was encoded.
    init(_ bytes: [UInt8], of incarnation: UInt64, at number: UInt64) {
        self.incarnation = incarnation
        self.number = number
        self.bytes = bytes
    }

    /// The encoded state, if it is of this incarnation of a session at this record.
    func bytes(of incarnation: UInt64, at number: UInt64) -> [UInt8]? {
        self.incarnation == incarnation && self.number == number ? bytes : nil
    }
}
