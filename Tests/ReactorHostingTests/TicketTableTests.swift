import Sessions
import Sockets
import Testing

@testable import ReactorHosting

@Suite("Tickets for streams", .timeLimit(.minutes(15)))
struct TicketTableTests {
    private func access(_ subject: String = "ada", expires: Int64 = 1_000) -> Access {
        Access(
            "token of \(subject)",
            Principal(subject: subject, grants: .all, expiresAtSeconds: expires), at: 0)
    }

    private func stream(
        _ session: String = "a", _ route: String = "streamPulses"
    ) throws -> TicketStream {
        let id: SessionID = try #require(SessionID(session))
        return TicketStream(
            route: try #require(Route.table.first { $0.operationID == route }), session: id)
    }

    /// The token, or the code of the refusal.
    private func redeem(
        _ ticket: Ticket, _ table: inout TicketTable, _ stream: TicketStream, _ query: String = "",
        at now: Int64
    ) -> String {
        do {
            let token = try table.redeem(
                ticket, for: stream, query: Array(query.utf8)[...], at: now)
            return String(decoding: token, as: UTF8.self)
        } catch {
            return error.code
        }
    }

    @Test func `a ticket is 32 digits, and no two are equal`() throws {
        var all: Set<Ticket> = []
        for _ in 0..<1_000 {
            let ticket = Ticket()
            #expect(ticket.text.utf8.count == 32)
            #expect(Ticket(Array(ticket.text.utf8)) == ticket)
            #expect(all.insert(ticket).inserted)
        }
        let text = "0123456789abcdef00000000000000ff"
        #expect(Ticket(Array(text.utf8))?.text == text)
        for bad in [
            "", "0", text + "0", String(text.dropLast()), text.uppercased(), "g" + text.dropFirst(),
        ] {
            #expect(Ticket(Array(bad.utf8)) == nil, "\(bad)")
        }
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

    @Test func `it is used within 30 s, and then until its token expires`() throws {
        var table = TicketTable()
        let (late, used) = (Ticket(), Ticket())
        #expect(try table.insert(late, for: stream(), to: access(), at: 5) == 30_005)
        #expect(try table.insert(used, for: stream(), to: access(), at: 5) == 30_005)
        #expect(redeem(used, &table, try stream(), at: 30_004) == "token of ada")
        #expect(redeem(late, &table, try stream(), at: 30_005) == "ticket_invalid")
        // A clock that is set back does not bring it back.
        #expect(redeem(late, &table, try stream(), at: 30_004) == "ticket_invalid")
        #expect(redeem(used, &table, try stream(), at: 999_999) == "token of ada")
        #expect(redeem(used, &table, try stream(), at: 1_000_000) == "ticket_invalid")
        #expect(redeem(Ticket(), &table, try stream(), at: 0) == "ticket_invalid")
        #expect(table.count == 0)
        // A token may expire sooner.
        let soon = Ticket()
        #expect(try table.insert(soon, for: stream(), to: access(expires: 7), at: 5) == 7_000)
        #expect(redeem(soon, &table, try stream(), at: 7_000) == "ticket_invalid")
    }

    @Test func `it belongs to one stream, and to the query that it was first used with`() throws {
        var table = TicketTable()
        let ticket = Ticket()
        _ = try table.insert(ticket, for: stream(), to: access(), at: 0)
        for other in [try stream("b"), try stream("a", "streamStates"), try stream("a", "readLog")]
        {
            #expect(redeem(ticket, &table, other, at: 1) == "ticket_invalid")
        }
        #expect(redeem(ticket, &table, try stream(), "pulse=a&ticket=x", at: 2) == "token of ada")
        for query in ["", "pulse=a", "pulse=b&ticket=x", "pulse=a&ticket=x&", "ticket=x&pulse=a"] {
            #expect(redeem(ticket, &table, try stream(), query, at: 3) == "ticket_invalid")
        }
        #expect(
            redeem(ticket, &table, try stream("b"), "pulse=a&ticket=x", at: 3) == "ticket_invalid")
        #expect(redeem(ticket, &table, try stream(), "pulse=a&ticket=x", at: 4) == "token of ada")
    }

    @Test func `the connection before is known once`() throws {
        var table = TicketTable()
        let ticket = Ticket()
        let connections = (0..<2).map {
            TicketConnection(loop: $0, id: ConnectionID(slot: 1, generation: UInt32($0) + 1))
        }
        #expect(table.opened(ticket, by: connections[0]) == nil)
        _ = try table.insert(ticket, for: stream(), to: access(), at: 0)
        #expect(table.opened(ticket, by: connections[0]) == nil)
        #expect(table.opened(ticket, by: connections[1]) == connections[0])
        #expect(table.opened(ticket, by: connections[0]) == connections[1])
    }

    @Test func `its stream may move to another loop, unless another stream has its place`() throws {
        var table = TicketTable()
        let ticket = Ticket()
        _ = try table.insert(ticket, for: stream(), to: access(), at: 0)
        let places = (0..<3).map {
            TicketConnection(loop: $0, id: ConnectionID(slot: 7, generation: 1))
        }
        #expect(table.opened(ticket, by: places[0]) == nil)
        #expect(table.moved(ticket, from: places[0], to: places[1]) == true)
        #expect(table.opened(ticket, by: places[2]) == places[1])
        #expect(table.moved(ticket, from: places[1], to: places[0]) == false)
        #expect(table.opened(ticket, by: places[0]) == places[2])
        #expect(table.moved(Ticket(), from: places[0], to: places[1]) == true, "it has expired")
    }

    @Test func `a subject with too many loses the least recently used one`() throws {
        var table = TicketTable()
        let tickets = (0...TicketTable.subjectLimit).map { _ in Ticket() }
        let other = Ticket()
        _ = try table.insert(other, for: stream(), to: access("eve"), at: 0)
        for ticket in tickets.dropLast() {
            _ = try table.insert(ticket, for: stream(), to: access(), at: 0)
        }
        #expect(redeem(tickets[0], &table, try stream(), at: 1) == "token of ada")
        _ = try table.insert(try #require(tickets.last), for: stream(), to: access(), at: 1)
        #expect(table.count == TicketTable.subjectLimit + 1)
        #expect(redeem(tickets[1], &table, try stream(), at: 2) == "ticket_invalid")
        for ticket in [tickets[0], tickets[2], other] {
            #expect(redeem(ticket, &table, try stream(), at: 2).hasPrefix("token of"))
        }
    }

    @Test func `all subjects together have a limit, and expired tickets make room`() throws {
        var table = TicketTable()
        func insert(_ number: Int, at now: Int64) throws(Problem) -> Ticket {
            let ticket = Ticket()
            guard let route = Route.table.first(where: { $0.operationID == "streamPulses" }),
                let session = SessionID("a")
            else { return ticket }
            _ = try table.insert(
                ticket, for: TicketStream(route: route, session: session),
                to: access("s\(number / 100)"), at: now)
            return ticket
        }
        var used: [Ticket] = []
        for number in 0..<TicketTable.limit {
            let ticket = try insert(number, at: 0)
            guard number % 1_000 == 0 else { continue }
            #expect(redeem(ticket, &table, try stream(), at: 1).hasPrefix("token of"))
            used.append(ticket)
        }
        let refusal = #expect(throws: Problem.self) { try insert(-100, at: 29_999) }
        #expect(refusal?.status == 503)
        #expect(table.count == TicketTable.limit)
        _ = try insert(-100, at: 30_000)
        // A bounded number at a time, and all of them in the end.
        #expect(table.count > TicketTable.limit - TicketTable.sweptAtOnce)
        for _ in 0..<8 { table.sweep(at: 30_001, count: TicketTable.sweptAtOnce) }
        #expect(table.count == used.count + 1)
        for ticket in used {
            #expect(redeem(ticket, &table, try stream(), at: 30_002).hasPrefix("token of"))
        }
        for _ in 0..<2 { table.sweep(at: 1_000_000, count: TicketTable.sweptAtOnce) }
        #expect(table.count == 0)
        table.sweep(at: 1_000_000, count: 1)
        _ = try insert(1, at: 0)
        #expect(table.count == 1)
    }
}
