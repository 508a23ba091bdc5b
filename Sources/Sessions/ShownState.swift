/// The large state that was encoded last on a loop. All requests that read it while it is current share it.
///
/// Why only one: requests at the same time mostly read the same session, and the memory that may be
/// kept without use is one state for each loop, until the next tick.
struct ShownState {
    /// Smaller states are encoded for each request: that costs less than keeping them.
    static let smallestBytes = 16 << 10

    private let incarnation: UInt64
    private let number: UInt64
    private let bytes: [UInt8]
    /// The charge of the requests that read the state, while one of them holds it. The state itself
    /// is not charged while it is kept: each loop has only one.
    private(set) weak var charge: WorkCharge?

    /// - Parameter number: the session's newest record when the state was encoded.
    init(_ bytes: [UInt8], of incarnation: UInt64, at number: UInt64, _ charge: WorkCharge? = nil) {
        self.charge = charge
        self.incarnation = incarnation
        self.number = number
        self.bytes = bytes
    }

    /// Requests that hold the state share this charge from now on.
    mutating func share(_ charge: WorkCharge?) { self.charge = charge }

    /// The encoded state, if it is of this incarnation of a session at this record.
    func bytes(of incarnation: UInt64, at number: UInt64) -> [UInt8]? {
        self.incarnation == incarnation && self.number == number ? bytes : nil
    }
}
