/// The timers of a loop, by their tokens.
///
/// Why one type: a timer replaces an earlier one with its token, so no two may share one.
enum LoopTimer: UInt64 {
    case tick, eviction, heap, quarter
    /// Has the token of ``LinkTimer``.
    case links = 4
    case handover, timers, readers, presence, lists
}
