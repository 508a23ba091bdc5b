/// The treatment of an action whose effects were running when the process ended.
public enum Recovery: Sendable {
    /// Its effects are not run again; a failure is recorded. The default: side effects outside the
    /// session happen at most once.
    case abandon

    /// The action is received again when the session is loaded: side effects outside the session
    /// may happen twice. It starts at most three times, counted over all processes; then a failure
    /// is recorded, because its effects may have ended those processes.
    case runAgain
}
