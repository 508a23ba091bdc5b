/// Names one dispatch within its cycler, so that overlapping ones can be distinguished.
public struct DispatchID: Hashable, Sendable {
    /// Counts the cycler's dispatches, from 1.
    public let number: UInt64

    /// Makes one, for what stands in for a cycler.
    public init(number: UInt64) { self.number = number }
}

/// A `dispatch`, `commit` or `emit` as it stands in the source, and the dispatch that it belongs to.
public struct CyclerCall: Sendable {
    /// The dispatch itself, or the one that a commit or an emission was made in.
    ///
    /// `nil` outside of one. A commit of an asynchronous dispatch is known to belong to it when it
    /// is made by the dispatch's context.
    public var dispatch: DispatchID?

    /// The name that the caller gave. Empty by default.
    public var name: String

    /// The description that the caller gave. Empty by default.
    public var description: String

    /// The file of the call, `Module/File.swift`.
    public var file: StaticString

    /// The function that the call stands in.
    public var function: StaticString

    /// The line of the call.
    public var line: UInt

    /// Makes one, for what stands in for a cycler.
    public init(
        dispatch: DispatchID? = nil, name: String = "", description: String = "",
        file: StaticString, function: StaticString, line: UInt
    ) {
        self.dispatch = dispatch
        self.name = name
        self.description = description
        self.file = file
        self.function = function
        self.line = line
    }
}

/// The outcome of a commit.
public enum CommitOutcome: Sendable {
    /// It wrote something, and is this version.
    case committed(version: UInt64)

    /// It wrote nothing: no version, no notification.
    case unchanged

    /// It wrote within another commit, which is a version when it ends, or fails.
    case joined

    /// It threw this and changed nothing.
    case failed(any Error)
}

/// A call that was dropped: it came from a context whose owner is gone or whose action is complete, or
/// it is a commit within one that changes the state in place.
public enum DroppedCall: String, Hashable, Sendable {
    /// A `commit`; its closure was not called.
    case commit
    /// An `emit`.
    case emission
}
