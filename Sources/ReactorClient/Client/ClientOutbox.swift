/// Where a client keeps the actions that are not done: at most 10 000, and 16 MiB.
public struct ClientOutbox: Sendable {
    let make: @Sendable () -> any OutboxStore

    /// In memory: they end with the client.
    public static let memory = ClientOutbox { MemoryOutbox() }

    /// In a file: the next client with that file continues, also after the program was killed. It
    /// has the last known states of the sessions too, so that the next client can show them
    /// without a network.
    ///
    /// - Parameters:
    ///   - path: of the file, in a folder that exists. One client uses it at a time, and a second
    ///     one fails with `outboxUnavailable`, as do damage and a disk that cannot be written.
    ///   - account: whose actions it keeps: a file of another account cannot be opened, so that
    ///     nothing is sent with the credentials of another user. Default: of no account.
    ///   - keepsStates: whether it keeps the last known states: those of the 1 024 sessions that
    ///     changed last, and 64 MiB together. They are written every 5 s, and when a session is
    ///     left. False also forgets those that an earlier client has kept. Default: true.
    public static func file(
        _ path: String, account: String? = nil, keepsStates: Bool = true
    ) -> ClientOutbox {
        ClientOutbox { FileOutbox(path, account: account, keepsStates: keepsStates) }
    }

    package init(_ make: @escaping @Sendable () -> any OutboxStore) { self.make = make }
}
