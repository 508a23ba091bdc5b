internal import Storage

/// The lineages that have lost a part. Decisions that were based on the lost part may still arrive.
///
/// Used on one queue only.
final class LostLineages: @unchecked Sendable {
    private var newer: [SessionKey: UInt64] = [:]
    private var older: [SessionKey: UInt64] = [:]
    /// A lineage is remembered for at least this number of further losses. That suffices, because
    /// its session learns of the loss within one round of its loop.
    private static let limit = 50_000

    func lose(_ key: SessionKey, _ lineage: UInt64) {
        guard lineage != 0 else { return }
        if newer.count >= Self.limit {
            older = newer
            newer = [:]
        }
        newer[key] = lineage
    }

    func has(_ key: SessionKey, _ lineage: UInt64) -> Bool {
        lineage != 0 && (newer[key] ?? older[key]) == lineage
    }
}
