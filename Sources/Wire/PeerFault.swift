/// A fault in bytes from the peer: the status of the response, and the source of the rule.
package protocol PeerFault: Error, Sendable {
    var status: Int { get }
    /// A stable name for programs, in snake_case.
    var code: String { get }
    /// A sentence for a reader that names the field or the part at fault.
    var detail: String { get }
    /// The clause that requires the refusal, such as `RFC 9112 §5.1`.
    var clause: String { get }
}
