/// Where a client keeps the actions that are not done: at most 10 000, and 16 MiB.
public struct ClientOutbox: Sendable {
    let make: @Sendable () -> any OutboxStore

    /// In memory: they end with the client.
    public static let memory = ClientOutbox { MemoryOutbox() }

    /// In a file. The next client with that file continues, even if the program was killed. The
    /// file also has the last known states of the sessions, so that the next client can show them
    /// without a network.
    ///
    /// - Parameters:
    ///   - path: of the file, in a folder that exists. Only one client can use the file at a time:
    ///     a second one fails with `outboxUnavailable`. So does a client whose file is damaged or
    ///     cannot be written.
    ///   - account: whose actions the file keeps. A file of another account cannot be opened, so
    ///     that no action is sent with another user's credentials. Default: no account.
    ///   - keepsStates: whether the file keeps the last known states: those of the 1 024 sessions
    ///     that changed last, and at most 64 MiB of them. They are written every 5 s, and when a
    ///     session is left. False also forgets the states that an earlier client kept. Default:
    ///     true.
    public static func file(
        _ path: String, account: String? = nil, keepsStates: Bool = true
    ) -> ClientOutbox {
        ClientOutbox { FileOutbox(path, account: account, keepsStates: keepsStates) }
    }

    package init(_ make: @escaping @Sendable () -> any OutboxStore) { self.make = make }
}
