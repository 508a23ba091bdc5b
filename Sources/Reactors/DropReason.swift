/// Why a mutation or an activity of a step or a source was dropped, or a step did not begin.
public enum DropReason: String, Hashable, Sendable {
    /// The step that sent it had ended or was cancelled, or the session has ended.
    case ended

    /// `transform(mutation:)` returned `nil`.
    case transform

    /// The step was cancelled before it began.
    case cancelledBeforeStart

    /// A step with its id was running, and its policy is `.first`.
    case first

    /// The session is stubbed.
    case stub
}
