/// The bytes of a link that the kernel has not accepted, in order.
package struct LinkOutput: Sendable {
    /// Beyond this, no request is sent: the other node does not read.
    package static let limitBytes = 8 << 20

    /// An object that is held as long as some of the bytes, and the position of those in `bytes`.
    private struct Hold {
        let range: Range<Int>
        let object: any AnyObject & Sendable

        func moved(by offset: Int) -> Hold {
            Hold(range: range.lowerBound + offset..<range.upperBound + offset, object: object)
        }
    }

    private var bytes: [UInt8] = []
    private var sentBytes = 0
    /// In the order of their bytes. No two of them share a byte.
    private var holds: [Hold] = []
    private var heldBytes = 0

    package var unsent: ArraySlice<UInt8> { bytes[sentBytes...] }

    package var isFull: Bool { bytes.count - sentBytes >= Self.limitBytes }

    /// The same without the bytes for which an object is held: a budget bounds those.
    package var isFullOfUncounted: Bool {
        let sentOfHeld = max(0, sentBytes - (holds.first?.range.lowerBound ?? sentBytes))
        return bytes.count - sentBytes - (heldBytes - sentOfHeld) >= Self.limitBytes
    }

    /// - Parameter object: Held until all of the new bytes are sent: the charge of a budget.
    package mutating func append(
        holding object: (any AnyObject & Sendable)? = nil, _ write: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        write(&bytes)
        guard let object else { return }
        holds.append(Hold(range: start..<bytes.count, object: object))
        heldBytes += bytes.count - start
    }

    /// Removes the first bytes, which were sent. The memory moves only when half of it is free.
    package mutating func removeFirst(_ count: Int) {
        sentBytes += count
        releaseSent()
        if sentBytes == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.count <= 65_536)
            sentBytes = 0
        } else if sentBytes > bytes.count / 2 {
            bytes.removeFirst(sentBytes)
            holds = holds.map { $0.moved(by: -sentBytes) }
            sentBytes = 0
        }
    }

    private mutating func releaseSent() {
        let count = holds.prefix { $0.range.upperBound <= sentBytes }.count
        guard count > 0 else { return }
        heldBytes -= holds[..<count].reduce(0) { $0 + $1.range.count }
        holds.removeFirst(count)
    }
}
