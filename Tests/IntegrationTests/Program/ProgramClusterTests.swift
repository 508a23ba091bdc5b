import Cluster
import Foundation
import ReactorHosting
import Reactors
import SampleReactors
import Testing
import Wire

@testable import ReactorHosting

@Suite("A program reaches its sessions from any node", .timeLimit(.minutes(60)))
struct ProgramClusterTests {
    private static let hosted = HostedSessionTests.hosted

    @Test func `sends at two nodes are one history, and both follow it`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(hosting: Self.hosted) { cluster in
                let (here, there) = (cluster.servers[0].own, cluster.servers[1].own)
                var created: [String] = []
                for number in 0..<4 {
                    created.append(try await here.create("order-\(number)", of: Order.self).id)
                }
                #expect(Set(created.map { cluster.journal.owner(of: $0) }).count > 0)
                for id in created {
                    let near = try here.session(id, of: Order.self)
                    let far = try there.session(id, of: Order.self)
                    let receipts = await near.pulse(\.$confirmation)
                    let others = await far.pulse(\.$confirmation)
                    for number in 0..<10 {
                        let one = number.isMultiple(of: 2) ? near : far
                        let result = try await one.send(.pay("\(number)"), key: "\(number)")
                        #expect(result.version == UInt64(number + 1))
                    }
                    // The other node knows the key.
                    #expect(try await far.send(.pay("0"), key: "0").version == 1)
                    #expect(try await near.read().state == far.read().state)
                    for stream in [receipts, others] {
                        var read: [String] = []
                        for try await receipt in stream {
                            if let receipt { read.append(receipt) }
                            if read.count == 10 { break }
                        }
                        #expect(read == (0..<10).map(String.init))
                    }
                    let fork = try await near.fork(at: 5)
                    #expect(try await fork.read().state.payments.count == 5)
                    #expect(try await far.log().entries.count > 0)
                    try await far.delete()
                    let ended = HostedFailure.ended("the session \(id) has been deleted")
                    await #expect(throws: ended) { try await near.send(.close) }
                }
                let order = try await here.create("listener", of: Order.self)
                try await there.publish("sale", to: Order.news)
                // The other node may read it a moment later.
                for try await news in await order.state(\.news) where news == ["sale"] { break }
            }
        }
    }

    private struct Nobody: Authenticator {
        func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal {
            throw .invalid("nobody has a token")
        }
    }

    // Without the program's bit, the other node would refuse a request without a client, or treat a
    // session with another reactor as unknown.
    @Test func `it needs no token, at its own node and at the owner`() async throws {
        try await Turnstile.servers.pass {
            let folder = TemporaryFolder()
            let secret = "\(folder.path)/secret"
            try Data("0123456789abcdef0123456789abcdef".utf8).write(to: URL(filePath: secret))
            try await LocalCluster.with(
                hosting: Self.hosted, authenticator: Nobody(), { $1.clusterSecretPath = secret }
            ) { cluster in
                for number in 0..<6 {
                    let id = "order-\(number)"
                    let near = try await cluster.servers[0].own.create(id, of: Order.self)
                    let far = try cluster.servers[1].own.session(id, of: Order.self)
                    try await near.send(.pay("a"))
                    try await far.send(.pay("b"), key: nil, subject: "ada")
                    #expect(try await near.read().state.payers == ["ada"])
                    let wrong = try cluster.servers[1].own.session(id, of: Alerts.self)
                    let sentence = "the session \(id) has the reactor order"
                    await #expect(throws: HostedFailure.otherReactor(sentence)) {
                        try await wrong.send(.doSomeAction)
                    }
                }
            }
        }
    }

    // The link breaks after the request was sent. Without a key, nobody could know the outcome.
    @Test func `an owner that dies applies a send once, or says that it is unknown`()
        async throws
    {
        try await Turnstile.servers.pass {
            let peer = try ScriptedPeer([.end])
            try await LocalCluster.with(1, hosting: Self.hosted) { cluster in
                let order = try await cluster.servers[0].own.create("order-1", of: Order.self)
                try await order.send(.pay("a"))
                cluster.journal.join(peer.member)
                cluster.journal.give(order.id, to: peer.node)
                // The read looks at the journal, so the node learns of the owner.
                _ = try await cluster.client(0).get("/v1/sessions/order-1")
                async let sent = order.send(.pay("b"), key: "b")
                #expect(await peer.until("POST /v1/sessions/order-1/actions"))
                cluster.journal.leave(peer.node)
                #expect(try await sent.version == 2)
                #expect(try await order.send(.pay("b"), key: "b").version == 2)
                #expect(try await order.read().state.payments == ["a", "b"])
            }
            await peer.end()
        }
    }

    @Test func `the sends of a program continue while its session moves between nodes`()
        async throws
    {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(3, hosting: Self.hosted) { cluster in
                let own = cluster.servers[0].own
                var moved: [HostedSession<Order>] = []
                for number in 0..<8 {
                    moved.append(try await own.create("order-\(number)", of: Order.self))
                }
                var receipts: [ReactorStream<String?>] = []
                for order in moved { receipts.append(await order.pulse(\.$confirmation)) }
                for round in 0..<30 {
                    if round == 10 { cluster.servers[1].stop() }
                    for order in moved {
                        try await order.send(.pay("\(round)"), key: "\(round)")
                    }
                }
                for order in moved {
                    let payments = try await order.read().state.payments
                    #expect(payments == (0..<30).map(String.init))
                }
                for stream in receipts {
                    var read: [String] = []
                    for try await receipt in stream {
                        if let receipt { read.append(receipt) }
                        if read.count == 30 { break }
                    }
                    #expect(read == (0..<30).map(String.init))
                }
            }
        }
    }
}
