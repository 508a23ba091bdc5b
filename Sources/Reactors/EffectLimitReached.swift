/// An effect asked for more than a session gives it. It ends with this error; the session lives.
public enum EffectLimitReached: Error, Hashable, Sendable {
    /// Effects nested too deep: 500 levels as a value, 1000 while they are carried out.
    case depth

    /// More than 100 000 steps in one turn without waiting: as a rule a `.deferred` that returns
    /// itself. Each mutation is a step, and none of a list of mutations that would pass the limit
    /// is applied.
    case steps

    /// 1000 asynchronous steps of the session run already.
    case running
}
