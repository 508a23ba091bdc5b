/// The method of a request (RFC 9110 §9).
package enum Method: UInt8, Sendable, CaseIterable {
    case get
    case head
    case post
    case put
    case delete
    case options
    case patch
    case trace
    case connect
    /// Another well-formed method; its text is `RequestHead.methodRange`.
    case other

    /// RFC 9110 §9.1: the method token is case-sensitive.
    init(packed word: UInt64, length: Int) {
        switch (length, word) {
        case (3, 0x0000_0000_0054_4547): self = .get
        case (3, 0x0000_0000_0054_5550): self = .put
        case (4, 0x0000_0000_4441_4548): self = .head
        case (4, 0x0000_0000_5453_4f50): self = .post
        case (5, 0x0000_0048_4354_4150): self = .patch
        case (5, 0x0000_0045_4341_5254): self = .trace
        case (6, 0x0000_4554_454c_4544): self = .delete
        case (7, 0x0053_4e4f_4954_504f): self = .options
        case (7, 0x0054_4345_4e4e_4f43): self = .connect
        default: self = .other
        }
    }
}
