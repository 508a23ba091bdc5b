public import Reactors

extension ExportedSession {
    /// Runs the session's actions through this reactor, and finds the first version at which
    /// today's code does something else.
    ///
    /// Each action is given to `transform(action:)` and `mutate`. The mutations that it makes at
    /// once must be those that are recorded; each is reduced, and the pulses that it assigns must
    /// be those that subscribers received. The state is compared wherever the export has a snapshot
    /// of it. Mutations of effects and sources came from outside: they are reduced as recorded, if
    /// the code has an effect that could have made them; no effect runs. While an action is
    /// received, effects of earlier ones count as ended. Changes by a stub count as versions and
    /// change nothing.
    ///
    /// Code that depends on time or chance differs from run to run; the reactor's own clock and
    /// numbers make it repeatable. For reactors; a Cycler has no mutations to compare.
    ///
    /// - Parameter reactor: Today's code, with an initial state as the server's
    ///   registration makes it.
    /// - Returns: nil if nothing differs.
    /// - Throws: ``ReplayFault``: an action, a mutation or a state cannot be decoded or migrated.
    public func replay<R: Reactor>(with reactor: R) throws(ReplayFault) -> ReplayDifference?
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable {
        try Replay(self, reactor).run()
    }
}

/// The first version at which today's code does something else than is recorded.
public struct ReplayDifference: Sendable, Equatable, CustomStringConvertible {
    /// The version.
    public let version: UInt64
    /// The action that led to it, by its number in the session; 0 if a source did.
    public let action: UInt64
    /// The difference, as a clause: the recorded part and today's.
    public let reason: String
    /// The last version before at which a saved state was the same as today's. The cause of a state
    /// that differs lies after it, if no pulse shows it.
    public let agreed: UInt64

    /// One sentence.
    public var description: String {
        "version \(version)\(action > 0 ? ", action \(action)" : ""): \(reason)"
    }
}
