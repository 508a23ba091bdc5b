import Cluster
import Feeds
import Glibc
import Logging
import Sessions
import Sockets
import Storage
import TestLogging
import Testing
import Wire

@testable import Clustering

@Suite("A node loses its sessions only by what it does itself", .timeLimit(.minutes(60)))
struct LinkTableTests {
    // Without the phases of a link: deposed after a second.
    @Test func `a slow lookup of its name refuses requests, and deposes nobody`() async throws {
        let rig = try LookupRig()
        rig.send()
        #expect(await rig.next() == "sent: true, lookups: 1")
        #expect(await rig.next() == "notSent, may be deposed: false")
        rig.send()
        #expect(await rig.next() == "sent: false, lookups: 1", "nobody waits, or asks twice")
        rig.failLookup()
        rig.send()
        #expect(await rig.next() == "sent: true, lookups: 2")
        await rig.end()
    }

    /// - Parameter isDialled: whether the loop had a socket when the connection was refused.
    @Test(arguments: [true, false])
    func `a link port that accepts no connections is in the log`(isDialled: Bool) async throws {
        let lines = LogLines()
        let rig = try LookupRig(lines.logger)
        rig.sendRefused(isDialled: isDialled)
        #expect(await rig.next() == "sent: true, lookups: 1")
        #expect(await rig.next() == "notSent, may be deposed: true")
        #expect(
            lines.all == [
                "no link: nothing accepts connections at the node's --link address node=2"
            ])
        await rig.end()
    }

    @Test func `a client that goes during a pause is not asked for again`() async throws {
        let rig = try LookupRig()
        rig.pause(1, 2, abandoning: 1)
        #expect(await rig.next() == "the pause of 2 has ended")
        rig.pause(3)
        #expect(await rig.next() == "the pause of 3 has ended")
        await rig.end()
    }
}

/// The links of a loop on which names are looked up for as long as the test says.
private final class LookupRig: Sendable {
    private let loop: EventLoop<LookupEnd>
    private let notes: AsyncStream<String>

    init(_ logger: Logger? = nil) throws {
        let (notes, note) = AsyncStream.makeStream(of: String.self)
        loop = try EventLoop<LookupEnd>(label: "links") {
            LookupEnd($1, logger) { note.yield($0) }
        }
        self.notes = notes
    }

    func next() async -> String? {
        for await note in notes { return note }
        return nil
    }

    func send() { loop.enqueue { $0.send() } }
    func failLookup() { loop.enqueue { $0.failLookup() } }
    func sendRefused(isDialled: Bool) { loop.enqueue { $0.sendRefused(isDialled: isDialled) } }
    func pause(_ slots: UInt32..., abandoning abandoned: UInt32? = nil) {
        loop.enqueue { $0.pause(slots, abandoning: abandoned) }
    }

    func end() async { await loop.stop() }
}

private final class LookupEnd: LinkLoop {
    /// The lookups that have begun.
    private final class Lookups {
        typealias End = @Sendable (OutgoingLinks, Result<ConnectionID, SystemFailure>) -> Void
        var ends: [End] = []
    }

    let links: LinkTable
    private let lookups: Lookups
    private let far = Member(node: Node(number: 2), address: "node.example:7", loops: 1)
    private let note: (String) -> Void

    init(
        _ table: ConnectionTable, _ logger: Logger?,
        _ note: @escaping (String) -> Void
    ) {
        self.note = note
        let lookups = Lookups()
        self.lookups = lookups
        links = LinkTable(to: far, WorkBudget(), table, logger) { _, _, end in
            lookups.ends.append(end)
        }
        links.delegate = self
    }

    func send() {
        guard let forward = request(of: 1) else { return }
        let isSent = links.outgoing.send(forward, to: far)
        note("sent: \(isSent), lookups: \(lookups.ends.count)")
    }

    func pause(_ slots: [UInt32], abandoning abandoned: UInt32?) {
        for slot in slots {
            guard let forward = request(of: slot) else { return }
            #expect(links.outgoing.pause(forward))
            if slot == abandoned { links.outgoing.abandon(forward) }
        }
    }

    private func request(of slot: UInt32) -> ForwardedRequest? {
        guard let session = SessionID("s") else { return nil }
        return ForwardedRequest(
            of: ConnectionID(slot: slot, generation: 1), for: session,
            Forwarding(at: 0, isRepeatable: false))
    }

    func failLookup() {
        let failure = SystemFailure(
            operation: "getaddrinfo", code: 1, detail: "node.example", message: "unknown")
        lookups.ends.last?(links.outgoing, .failure(failure))
    }

    /// In one job: no time is over between the request and the refusal.
    func sendRefused(isDialled: Bool) {
        send()
        let socket = ConnectionID(slot: 9, generation: 9)
        let failure = SystemFailure(
            operation: "connect", code: ECONNREFUSED, detail: "node.example", message: "refused")
        lookups.ends.last?(links.outgoing, isDialled ? .success(socket) : .failure(failure))
        links.closed(socket, .refused)
    }

    // MARK: LinkLoop

    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending) {
        let deposed = links.way.deposable(far.node, of: forward.session)
        note("\(ending), may be deposed: \(deposed != nil)")
    }

    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) { note("answered") }

    func pauseEnded(_ forward: ForwardedRequest) {
        note("the pause of \(forward.connection.slot) has ended")
    }

    /// Ends lookups and pauses. No link is open.
    func timerReached(_ token: UInt64) { links.timerReached() }
}
