/// The relation of an id to the previous one.
enum OrderVerdict: Equatable {
    case inOrder
    /// An event between the last one and this one is missing.
    case gap
    /// The id of the last event is repeated.
    case double
    /// The id is before the last one.
    case reordered
    /// The stream restarted with another generation.
    case otherEpoch
    /// The id is missing or does not follow the scheme.
    case malformed
}
