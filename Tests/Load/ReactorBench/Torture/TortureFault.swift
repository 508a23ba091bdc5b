/// The violations that `torture` can find.
enum TortureFault: String, CaseIterable {
    /// An acknowledged action is missing from the history, or has another position there.
    case lost
    /// An action is in the history twice.
    case doubled
    /// Two actions of one client are in another order than they were sent.
    case reordered
    /// A batch is incomplete in the history, or another action is between its actions.
    case torn
    /// The history has an action that was refused or that no client posted.
    case invented
    /// A reader received an action that the history does not have at that position.
    case rolledBack
    /// A stream left out an event.
    case gap
    /// A stream sent an event twice or went back.
    case repeated
    /// A stream restarted (`reset`, `snapshot`) though all of its history is kept.
    case reset
    /// A state is older than a version that was acknowledged before the request.
    case backwards
    /// A session has another generation than before.
    case generation
    /// A timer did not fire once, was early, or fired though it was cancelled, replaced or refused.
    case timer
    /// A response that is not allowed here: its status, its body or its end.
    case answer
}
