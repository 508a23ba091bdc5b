/// A connection that moves from one loop to another: an open descriptor with exactly one owner.
///
/// Dropping it closes the connection. Bytes that the kernel holds for it stay there.
package struct DetachedSocket: ~Copyable, Sendable {
    /// -1 once it is released.
    private var descriptor: Int32
    /// Stored so that `peerFinished` is reported once per connection, not once per loop.
    let peerHasFinished: Bool
    /// Bytes of the peer that were received and not delivered; the new loop delivers them first.
    let unread: [UInt8]

    /// Takes ownership of a connected, non-blocking stream socket.
    init(descriptor: Int32, peerHasFinished: Bool, unread: [UInt8]) {
        self.descriptor = descriptor
        self.peerHasFinished = peerHasFinished
        self.unread = unread
    }

    /// Takes ownership of a connected stream socket, such as one half of a socket pair.
    ///
    /// It is made non-blocking, and on Darwin silent on a broken pipe.
    package init(owning descriptor: Int32) throws(SystemFailure) {
        self.descriptor = descriptor
        self.peerHasFinished = false
        self.unread = []
        try SocketCalls.prepare(descriptor)
    }

    /// Releases the descriptor without closing it.
    consuming func release() -> Int32 {
        let released = descriptor
        descriptor = -1
        return released
    }

    deinit {
        if descriptor >= 0 { SocketCalls.close(descriptor) }
    }
}
