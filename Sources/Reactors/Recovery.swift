/// How an action is treated whose effects were running when the process ended.
public enum Recovery: Sendable {
    /// Its effects are not run again; a failure that says so is recorded. The default: whatever
    /// an effect does in the world outside happens once at most.
    case abandon

    /// The action is received again, as if it had just come, once the session wakes: whatever its
    /// effects do in the world outside may happen twice. It is begun three
    /// times at most, counted over all processes: then a failure is recorded, because its effects
    /// may be what ended them.
    case runAgain
}
