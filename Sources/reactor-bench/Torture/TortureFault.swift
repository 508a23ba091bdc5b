/// The broken promises that `torture` can find.
enum TortureFault: String, CaseIterable {
    /// An acknowledged action is not in the history, or not at the place it was given.
    case lost
    /// An action is in the history twice.
    case doubled
    /// Two actions of one client stand in another order than they were sent.
    case reordered
    /// A batch is there in part, or something stands between its actions.
    case torn
    /// Something is in the history that nobody posted, or that was refused.
    case invented
    /// A reader was shown something that the history does not have at that place.
    case rolledBack
    /// A stream left something out.
    case gap
    /// A stream told something twice or went back.
    case repeated
    /// A stream began anew (`reset`, `snapshot`) though all of its history is kept.
    case reset
    /// A state was older than what had been acknowledged before it was asked for.
    case backwards
    /// A session lives under another generation than before.
    case generation
    /// An answer that has no place here: a status, a body, an end.
    case answer
}
