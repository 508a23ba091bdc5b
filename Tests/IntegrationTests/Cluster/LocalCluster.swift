import Cluster
import ReactorHosting
import SampleReactors
import Storage

@testable import ReactorHosting

/// Servers of the tests' own process that are nodes of one cluster.
struct LocalCluster {
    let journal: SharedJournal
    let servers: [LocalServer]
    /// Makes a configuration differ between nodes.
    typealias Adjust = @Sendable (_ index: Int, inout Configuration) -> Void

    /// Starts servers, and ends them after `act`.
    ///
    /// - Parameter followPause: Of the journal as an ``Ownership``.
    static func with(
        _ count: Int = 2, hosting hosted: [Hosted] = [Hosted("alerts") { Alerts() }],
        followPause: Int64 = 1_000, authenticator: (any Authenticator)? = nil,
        _ adjust: @escaping Adjust = { _, _ in },
        _ act: (LocalCluster) async throws -> Void
    ) async throws {
        let folder = TemporaryFolder()
        let journal = try SharedJournal(folder, followPause: followPause)
        let cluster = LocalCluster(journal: journal, servers: [])
        try await start(count, hosted, authenticator, adjust, cluster, act)
        await journal.close()
    }

    private static func start(
        _ count: Int, _ hosted: [Hosted], _ authenticator: (any Authenticator)?,
        _ adjust: @escaping Adjust, _ cluster: LocalCluster,
        _ act: (LocalCluster) async throws -> Void
    ) async throws {
        let index = cluster.servers.count
        guard index < count else { return try await act(cluster) }
        let journal = cluster.journal
        try await LocalServer.with(
            hosting: hosted, authenticator: authenticator,
            opening: { member -> any Journal in
                guard let member else { return MemoryJournal() }
                return NodeJournal(journal, as: member)
            },
            { configuration in
                configuration.journal = .postgres(address: "postgres://shared")
                configuration.link = LinkAddress(host: "127.0.0.1", port: 0)
                configuration.loops = 2
                adjust(index, &configuration)
            }
        ) { server in
            let grown = LocalCluster(journal: journal, servers: cluster.servers + [server])
            try await start(count, hosted, authenticator, adjust, grown, act)
        }
    }

    func client(_ index: Int) -> Client {
        Client(base: "http://127.0.0.1:\(servers[index].port)")
    }

    /// A session, as a client of the first node has it.
    ///
    /// - Parameter owner: The index of the node that creates and owns it.
    func session(ownedBy owner: Int) async throws -> SessionHandle {
        // Created by POST it is the node's that was asked, wherever its home is.
        let created = try await client(owner).post("/v1/sessions", #"{"reactor":"alerts"}"#)
        guard created.status == 201, let id = try created.json["id"]?.string,
            let position = try created.json["position"]?.string
        else { throw UnexpectedAnswer(response: created) }
        return SessionHandle(client: client(0), id: id, created: position)
    }

    func isOwner(_ index: Int, of session: SessionHandle) -> Bool {
        journal.owner(of: session.id) == journal.nodes[index]
    }
}
