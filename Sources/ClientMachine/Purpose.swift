/// The reason of an attempt: at most one attempt of each is under way.
enum Purpose: Hashable, Sendable {
    case post(SessionName)
    /// To make sure that the session exists.
    case create(SessionName)
    /// To read the state that the stream has not confirmed.
    case readBack(SessionName)
    /// Asks whether the session has really ended, after a stream of its log or its events got 204.
    case lookUp(SessionName, ofLog: Bool)
    /// Tries a refused session again. It sends no request of its own.
    case revive(SessionName)
    case stream(StreamID)

    /// Whether the success of another purpose is a reason to attempt this one now. Not to read
    /// back: that waits for an event, not for the server.
    var isHurriedBySuccess: Bool {
        switch self {
        case .post, .create, .stream: true
        case .readBack, .lookUp, .revive: false
        }
    }
}

/// Identifies a stream over all of its connections.
struct StreamID: Hashable, Comparable, Sendable {
    let number: UInt64

    static func < (left: StreamID, right: StreamID) -> Bool { left.number < right.number }
}

/// Identifies one attempt: a question for a credential, then one request or one connection.
package struct AttemptID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (left: AttemptID, right: AttemptID) -> Bool {
        left.number < right.number
    }
}
