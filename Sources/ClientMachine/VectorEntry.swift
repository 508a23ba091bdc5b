/// The part of one session that a client has seen, in the vector that resumes a stream of many.
package enum VectorEntry: Equatable, Sendable {
    /// Everything up to here is seen.
    case position(StreamPosition)
    /// Nothing yet: the session begins as on a fresh stream.
    case nothing
    /// The session is over; the stream has nothing more of it.
    case over

    package var text: String {
        switch self {
        case .position(let position): position.text
        case .nothing: "-"
        case .over: "x"
        }
    }

    /// The vector of several sessions, in the order of the request's `session` parameters.
    package static func vector(_ entries: some Sequence<VectorEntry>) -> String {
        entries.map(\.text).joined(separator: ",")
    }
}
