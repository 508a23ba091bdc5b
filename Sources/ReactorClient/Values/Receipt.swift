internal import ClientMachine
public import Reactors

/// The server's answer to a send: its actions are committed.
public struct Receipt: Hashable, Sendable {
    /// The position that contains them.
    public let position: Position
    /// The version after them; nil if the answer was lost, and an event has shown their effect.
    public let version: UInt64?
    /// The indices of the actions that the reactor rejected.
    public let rejected: [Int]
    /// By the index of the action: the error of the hook that rejected it, or the error of its
    /// effect before the first wait. The server sends at most 16.
    public let failures: [Int: String]
    /// By the index of the action: the Cycler's refusal of one action of a batch. A reactor refuses
    /// the whole send instead.
    public let refusals: [Int: Refusal]

    init(_ receipt: MachineReceipt) {
        position = Position(receipt.position)
        version = receipt.version
        rejected = receipt.rejected
        failures = receipt.failures
        refusals = receipt.refusals
    }
}
