/// The relation of an id to the one before it.
enum OrderVerdict: Equatable {
    case inOrder
    /// Something between the last event and this one is missing.
    case gap
    /// The id of the last event, again.
    case double
    /// An id that lies before the last one.
    case reordered
    /// The stream began anew: another generation.
    case otherEpoch
    /// Not an id of the scheme.
    case malformed
}
