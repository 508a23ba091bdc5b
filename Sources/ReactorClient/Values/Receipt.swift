internal import ClientMachine

/// The server's answer to a send: its actions are committed.
public struct Receipt: Hashable, Sendable {
    /// The position that contains them.
    public let position: Position
    /// The version after them; nil if the answer was lost, and an event has shown their effect.
    public let version: UInt64?
    /// The indices of the actions that the reactor rejected.
    public let rejected: [Int]

    init(_ receipt: MachineReceipt) {
        position = Position(receipt.position)
        version = receipt.version
        rejected = receipt.rejected
    }
}
