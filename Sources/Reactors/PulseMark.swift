import Synchronization

/// Identifies a state of a pulse: its lineage (one per `init`) and the number of assignments.
///
/// Contract §2: a count alone cannot show "replace the state, then assign": both have count 1.
@usableFromInline
package struct PulseMark: Hashable, Sendable {
    /// Unique per `init` in this process, shared by all copies of that pulse.
    @usableFromInline
    package let lineage: UInt64

    /// How often the pulse was assigned since its `init`; wraps from `UInt.max` to 0.
    @usableFromInline
    package var count: UInt

    @usableFromInline
    init(lineage: UInt64, count: UInt) {
        self.lineage = lineage
        self.count = count
    }

    /// Whether the pulse was assigned between `old` and this mark.
    ///
    /// With the same lineage, a different count means an assignment. With another lineage the state
    /// was replaced, and a count above 0 means an assignment (a plain reset assigns nothing).
    @inlinable
    package func isAssignment(since old: PulseMark) -> Bool {
        lineage == old.lineage ? count != old.count : count > 0
    }
}

// Why a process-wide counter, the only one in this project: `State()` can be called anywhere, also
// in a reducer, where no session is available. Only difference matters, never order, so relaxed
// ordering suffices; 2^64 is not reached. Nothing depends on a value, so tests stay independent.
private let lineages = Atomic<UInt64>(0)

@usableFromInline
func nextLineage() -> UInt64 {
    lineages.add(1, ordering: .relaxed).newValue
}
