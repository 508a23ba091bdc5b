/// The action, or the batch of actions, that is being received.
struct Arrival {
    /// Of its request; it goes into the records that it leaves.
    var traceparent: String?
    /// The action as it came, if it came alone and on one line.
    var line: ArraySlice<UInt8>?
    /// How often it was begun by earlier processes.
    var begunBefore = 0
}
