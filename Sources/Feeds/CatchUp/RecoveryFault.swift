package import JSONCoding

/// Why the present code cannot rebuild a session. Its data stay unchanged.
package struct RecoveryFault: Error, Sendable, Equatable {
    /// `the snapshot of version 5`, `the mutation of version 7`, `the reactor`.
    package var place: String
    package var reason: String

    package init(place: String, reason: String) {
        self.place = place
        self.reason = reason
    }

    package static func unencodable(_ version: UInt64, _ failure: JSONEncodingFailure)
        -> RecoveryFault
    {
        RecoveryFault(
            place: "the migrated state of version \(version)",
            reason: "it cannot be encoded: \(failure)")
    }

    package static func notHosted(_ reactor: String) -> RecoveryFault {
        RecoveryFault(place: "the reactor", reason: "nothing is hosted here as \(reactor)")
    }
}
