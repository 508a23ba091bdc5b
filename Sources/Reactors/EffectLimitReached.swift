/// An effect exceeded a limit of its session. It ends with this error; the session lives.
public enum EffectLimitReached: Error, Hashable, Sendable {
    /// Effects nested too deep: 500 levels as a value, 1000 at run time.
    case depth

    /// More than 100 000 steps in one turn without waiting: usually a `.deferred` that returns
    /// itself. Each mutation is a step. If a list of mutations would exceed the limit, none of them
    /// is applied.
    case steps

    /// 1000 asynchronous steps of the session are running already.
    case running

    /// The session has 64 timers already, or the JSON of their actions together would be larger
    /// than a request may be (`--body-limit`).
    case timers

    /// The name of a timer is empty, has more than 64 bytes, or contains a control character.
    case timerName

    /// The action of a timer cannot be encoded as JSON, is larger than a request may be
    /// (`--body-limit`), or its turn has made too much output already.
    case timerAction
}
