/// Identifies one dispatch within its cycler, so that overlapping ones can be distinguished.
public struct DispatchID: Hashable, Sendable {
    /// The count of the cycler's dispatches, from 1.
    public let number: UInt64

    /// Makes an identifier, for a test double of a cycler.
    public init(number: UInt64) { self.number = number }
}

/// The source location of a `dispatch`, `commit` or `emit`, and the dispatch that it belongs to.
public struct CyclerCall: Sendable {
    /// The number of the dispatch itself, or of the dispatch that contains the commit or emission.
    ///
    /// `nil` outside a dispatch. A commit of an asynchronous dispatch is attributed to it if it is
    /// made through the dispatch's context.
    public var dispatch: DispatchID?

    /// The name given by the caller. Empty by default.
    public var name: String

    /// The description given by the caller. Empty by default.
    public var description: String

    /// The file of the call, `Module/File.swift`.
    public var file: StaticString

    /// The function that contains the call.
    public var function: StaticString

    /// The line of the call.
    public var line: UInt

    /// Makes a call, for a test double of a cycler.
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
    /// The commit wrote something and made this version.
    case committed(version: UInt64)

    /// The commit wrote nothing: no version, no notification.
    case unchanged

    /// The commit wrote within another commit, which makes a version when it ends, or fails.
    case joined

    /// The commit threw this error and changed nothing.
    case failed(any Error)
}

/// A dropped call: its context's owner is released, or its action is complete, or it is a commit
/// within one that changes the state in place.
public enum DroppedCall: String, Hashable, Sendable {
    /// A `commit`; its closure was not called.
    case commit
    /// An `emit`.
    case emission
}
