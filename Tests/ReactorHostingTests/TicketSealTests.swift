import Feeds
import Sessions
import Testing
import Wire

@testable import ReactorHosting

@Suite("Tickets for streams", .timeLimit(.minutes(60)))
struct TicketSealTests {
    private let secrets = [[UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32)]
    private let token = Array("token.of.ada".utf8)

    private func stream(
        _ session: String? = "a", _ route: String = "streamPulses", query: String? = nil
    ) throws -> TicketStream {
        TicketStream(
            route: try #require(Route.table.first { $0.operationID == route }),
            session: session.flatMap { SessionID($0) }, query: query.map { Array($0.utf8) })
    }

    /// The token, or the detail of the refusal.
    private func open(_ ticket: String, by seal: TicketSeal, _ stream: TicketStream) -> String {
        do {
            let token = try seal.open(Array(ticket.utf8)[...], for: stream)
            return String(decoding: token, as: UTF8.self)
        } catch {
            #expect(error.status == 401 && error.code == "ticket_invalid")
            return error.detail
        }
    }

    @Test func `a ticket is opened by each node with one of the secrets, and by no other`() throws {
        let seal = TicketSeal(secrets: secrets)
        let ticket = seal.seal(token[...], for: try stream())
        let nodes = [
            (seal, true), (TicketSeal(secrets: secrets), true),
            (TicketSeal(secrets: [secrets[1], secrets[0]]), true),
            (TicketSeal(secrets: [secrets[0]]), true), (TicketSeal(secrets: [secrets[1]]), false),
            (TicketSeal(secrets: []), false),
        ]
        for (index, (node, isOpened)) in nodes.enumerated() {
            let found = open(ticket, by: node, try stream())
            #expect((found == "token.of.ada") == isOpened, "\(index): \(found)")
        }
        // Without a secret it is the process's own.
        let alone = TicketSeal(secrets: [])
        let own = alone.seal(token[...], for: try stream())
        #expect(open(own, by: alone, try stream()) == "token.of.ada")
    }

    @Test func `it shows nothing of the token, and two of one token have nothing in common`() throws
    {
        let seal = TicketSeal(secrets: secrets)
        let zeros = [UInt8](repeating: 0, count: 300)
        let tickets = try (0..<2).map { _ in
            try #require(
                Base64URL.decode(seal.seal(zeros[...], for: try stream()).utf8))
        }
        #expect(tickets.allSatisfy { $0.count == 16 + 1 + 16 + 300 + 16 })
        for (index, one) in tickets.enumerated() {
            // The keystream repeats nowhere: neither after a block of 32 bytes nor in another
            // ticket.
            let blocks = stride(from: 33, to: 320, by: 32).map { Array(one[$0..<($0 + 12)]) }
            #expect(Set(blocks).count == blocks.count)
            for block in blocks {
                #expect(
                    !tickets[1 - index].indices.dropLast(12).contains {
                        Array(tickets[1 - index][$0..<($0 + 12)]) == block
                    })
            }
        }
    }

    @Test func `each changed bit and each missing byte is refused`() throws {
        let seal = TicketSeal(secrets: secrets)
        let stream = try stream()
        let text = seal.seal(token[...], for: stream)
        let ticket = try #require(Base64URL.decode(text.utf8))
        for index in ticket.indices {
            for bit in 0..<8 {
                var other = ticket
                other[index] ^= 1 << bit
                let found = open(Base64URL.encode(other), by: seal, stream)
                #expect(found.hasPrefix("the ticket was not made"), "\(index)")
            }
        }
        for count in 0..<text.utf8.count {
            #expect(
                open(String(text.prefix(count)), by: seal, stream).hasPrefix(
                    "the ticket was not made"))
        }
        for bad in [text + "A", text + "=", " " + text, text.uppercased()] {
            #expect(open(bad, by: seal, stream).hasPrefix("the ticket was not made"))
        }
    }

    @Test func `it opens its stream, with any query or with its own`() throws {
        let seal = TicketSeal(secrets: secrets)
        let ticket = seal.seal(token[...], for: try stream())
        let narrow = seal.seal(token[...], for: try stream(query: "pulse=a"))
        let bare = seal.seal(token[...], for: try stream(query: ""))
        for (query, opens) in [
            ("pulse=a", [ticket, narrow]), ("", [ticket, bare]), ("x", [ticket]),
        ] {
            for one in [ticket, narrow, bare] {
                let found = open(one, by: seal, try stream(query: query))
                let isOpened = opens.contains(one)
                #expect(
                    isOpened
                        ? found == "token.of.ada" : found.hasPrefix("the ticket is for another"))
            }
        }
        for other in [
            try stream("b", query: ""), try stream("a", "streamStates", query: ""),
            try stream(nil, "streamSessions", query: ""), try stream("A", query: ""),
        ] {
            #expect(open(ticket, by: seal, other).hasPrefix("the ticket is for another"))
        }
    }

    @Test func `the ticket of the longest token fits in a URL`() throws {
        let longest = [UInt8](repeating: 0x61, count: Ticket.tokenLimitBytes)
        let id = String(repeating: "s", count: 128)
        let ticket = TicketSeal(secrets: []).seal(longest[...], for: try stream(id))
        let target = "/v1/sessions/\(id)/activities?ticket=\(ticket)"
        #expect(target.utf8.count <= RequestLimits().targetBytes - 1_024)
    }

    @Test(
        arguments: [
            ("ticket=x", ""), ("a=1&ticket=x", "a=1"), ("ticket=x&a=1&b", "a=1&b"),
            ("a&&ticket&b", "a&&b"), ("a=1", "a=1"), ("", ""), ("%74icket=x", "%74icket=x"),
        ])
    func `the rest of a query is unchanged`(query: String, rest: String) {
        #expect(String(decoding: Ticket.rest(of: Array(query.utf8)[...]), as: UTF8.self) == rest)
    }

    @Test(
        arguments: [
            ("/s", nil), ("/s?", nil), ("/s?ticket=x", "x"), ("/s?ticket", ""), ("/s?ticket=", ""),
            ("/s?a&ticket=x&b=1", "x"), ("/s?tickets=x", nil), ("/s?aticket=x", nil),
            ("/s?ticket=x&&", "x"), ("/s?&ticket=x=y", "x=y"), ("/s?%74icket=x", nil),
            ("/s?ticket=x&ticket=x", "ticket_repeated"), ("/s?ticket&ticket", "ticket_repeated"),
            ("/s?Ticket=x", nil),
        ] as [(String, String?)])
    func `it is the value of one item of the query`(target: String, expected: String?) throws {
        let head = try HeadOf("GET", target).head
        do {
            let found = try Ticket.find(in: head)
            #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
        } catch {
            #expect(error.code == expected)
        }
    }
}
