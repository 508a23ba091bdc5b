/// A connection that moves from one loop to another: an open descriptor with exactly one owner.
///
/// Dropping it closes the connection. Bytes that the kernel holds for it stay there.
package struct DetachedSocket: ~Copyable, Sendable {
    let descriptor: Int32
    /// Stored so that `peerFinished` is reported once per connection, not once per loop.
    let peerHasFinished: Bool

    /// Takes ownership of a connected, non-blocking stream socket.
    init(descriptor: Int32, peerHasFinished: Bool) {
        self.descriptor = descriptor
        self.peerHasFinished = peerHasFinished
    }

    /// Takes ownership of a connected stream socket from another source, such as one half of a
    /// socket pair.
    ///
    /// It is made non-blocking, and on Darwin silent on a broken pipe.
    package init(owning descriptor: Int32) throws(SystemFailure) {
        self.descriptor = descriptor
        self.peerHasFinished = false
        try SocketCalls.prepare(descriptor)
    }

    /// Releases the descriptor without closing it.
    consuming func release() -> Int32 {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    deinit {
        SocketCalls.close(descriptor)
    }
}
