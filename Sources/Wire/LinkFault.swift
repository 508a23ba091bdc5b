/// The reason why a link cannot be used: always the other node's fault, or that of a stranger.
///
/// The link is closed after it, because the beginning of the next frame is unknown or cannot be
/// believed.
package enum LinkFault: Error, Equatable, Sendable, CustomStringConvertible {
    case frameTooLarge(limit: Int)
    case unknownKind(UInt8)
    /// The payload is not of the form that its kind has.
    case malformed(LinkFrame.Kind)
    /// The kind does not belong at this point, or not in this direction.
    case unexpected(LinkFrame.Kind)
    /// Two requests, or two followed sessions, have the same stream at a time, or one has
    /// the stream 0.
    case repeatedStream(UInt32)
    case tooManyStreams(limit: Int)
    /// The first frame does not begin as that of a node does.
    case notALink
    /// The other node speaks no version that this one does.
    case unknownVersion(UInt16)
    /// The proof was made with another secret.
    case otherSecret
    /// The address is that of another node: the one that is sought has ended.
    case otherNode(Int64)

    package var description: String {
        switch self {
        case .frameTooLarge(let limit): "a frame has a payload of more than \(limit) bytes"
        case .unknownKind(let kind): "a frame has the unknown kind \(kind)"
        case .malformed(let kind): "the payload of a frame of the kind \(kind) is malformed"
        case .unexpected(let kind): "a frame of the kind \(kind) is out of place"
        case .repeatedStream(let stream): "the stream \(stream) is used twice"
        case .tooManyStreams(let limit): "more than \(limit) requests are under way"
        case .notALink: "the peer does not begin like a node"
        case .unknownVersion(let version): "the peer has the unknown version \(version) of links"
        case .otherSecret:
            "the nodes do not have the same secret; start both with the same --cluster-secret-file"
        case .otherNode(let node): "the address is that of another node, \(node)"
        }
    }
}
