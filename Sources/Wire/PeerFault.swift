/// A fault of the one who sent the bytes: what it is answered with, and who says so.
package protocol PeerFault: Error, Sendable {
    /// The status the request is answered with, 400–505.
    var status: Int { get }
    /// A stable name for programs, in snake_case.
    var code: String { get }
    /// A sentence for people that names the field or the part at fault.
    var detail: String { get }
    /// The clause that asks for the refusal, such as `RFC 9112 §5.1`.
    var clause: String { get }
}
