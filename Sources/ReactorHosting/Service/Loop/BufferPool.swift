internal import Wire

/// Buffers that the connections of one loop use in turn.
///
/// Invariant: at most one connection has a buffer. For another one, it is allocated.
final class BufferPool {
    private var spareRequest = Request()
    private var spareOutput: [UInt8] = []
    private var spareReceipt: [UInt8] = []

    /// Larger buffers are freed after use, so that the memory of a load peak is not kept.
    static let limitBytes = 128 << 10

    func borrowRequest() -> Request {
        var request = Request()
        swap(&request, &spareRequest)
        return request
    }

    func recycle(_ request: inout Request) {
        if request.body.capacity > Self.limitBytes { request.body = [] }
        // A request whose buffers were moved away is not worth keeping.
        guard request.head.bytes.capacity >= spareRequest.head.bytes.capacity else { return }
        swap(&request, &spareRequest)
    }

    /// An empty array for the responses of one turn.
    func borrowOutput() -> [UInt8] {
        var output: [UInt8] = []
        swap(&output, &spareOutput)
        return output
    }

    func recycle(output: inout [UInt8]) {
        output.removeAll(keepingCapacity: output.capacity <= Self.limitBytes)
        swap(&output, &spareOutput)
        output = []
    }

    /// An empty array for the body of one response to posted actions.
    func borrowReceipt() -> [UInt8] {
        var receipt: [UInt8] = []
        swap(&receipt, &spareReceipt)
        return receipt
    }

    func recycle(receipt: inout [UInt8]) {
        receipt.removeAll(keepingCapacity: receipt.capacity <= Self.limitBytes)
        swap(&receipt, &spareReceipt)
    }
}
