/// The bytes of a link that the kernel has not accepted, in order.
package struct LinkOutput: Sendable {
    /// Beyond this, no request is sent: the other node does not read.
    package static let limitBytes = 8 << 20

    private var bytes: [UInt8] = []
    private var sentBytes = 0

    /// The bytes to send.
    package var unsent: ArraySlice<UInt8> { bytes[sentBytes...] }

    package var isFull: Bool { bytes.count - sentBytes >= Self.limitBytes }

    package mutating func append(_ write: (inout [UInt8]) -> Void) { write(&bytes) }

    /// Removes the first bytes, which were sent. The memory moves only when half of it is free.
    package mutating func removeFirst(_ count: Int) {
        sentBytes += count
        if sentBytes == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.count <= 65_536)
            sentBytes = 0
        } else if sentBytes > bytes.count / 2 {
            bytes.removeFirst(sentBytes)
            sentBytes = 0
        }
    }
}
