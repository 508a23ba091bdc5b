import Testing

@testable import reactor_bench

@Suite("The storm's crew detects faults in its own sessions", .timeLimit(.minutes(60)))
struct StormCrewTests {
    // MARK: The witness

    /// A witness that has created its session and counted to `count`.
    private func witness(_ count: UInt64) -> StormWitness {
        var witness = StormWitness(session: "counter-witness-0")
        var faults = answer(&witness, 201, #"{"version":0,"position":"abcdefgh.0"}"#)
        for number in 0..<count {
            faults += answer(&witness, 200, seen(number, number))
            let text = #"{"version":\#(number + 1),"position":"abcdefgh.\#(number + 1)"}"#
            faults += answer(&witness, 200, text)
        }
        #expect(faults == [])
        return witness
    }

    private func seen(_ version: UInt64, _ count: UInt64, _ generation: String = "abcdefgh")
        -> String
    {
        #"{"version":\#(version),"position":"\#(generation).\#(version)","state":{"count":\#(count)}}"#
    }

    private func answer(
        _ witness: inout StormWitness, _ status: Int, _ body: String
    ) -> [String] {
        _ = witness.request(host: "h")
        return witness.answered(status, Array(body.utf8))
    }

    private func faults(_ status: Int, _ body: String) -> [String] {
        var witness = witness(3)
        witness.serverStarted()
        return answer(&witness, status, body)
    }

    @Test func `acknowledged actions survive a kill, and at most one more appears`() {
        #expect(faults(200, seen(3, 3)) == [])
        #expect(faults(200, seen(4, 4)) == [])
        #expect(faults(503, "{}") == [])
        #expect(faults(504, "{}") == [])
    }

    @Test func `a lost action, a duplicate or another generation is a fault`() {
        #expect(faults(200, seen(2, 2)) != [])
        #expect(faults(200, seen(5, 5)) != [])
        #expect(faults(200, seen(3, 2)) != [])
        #expect(faults(200, seen(3, 3, "hgfedcba")) != [])
        #expect(faults(410, "{}") != [])
    }

    // MARK: Versions

    @Test func `no version is given to two posts`() {
        var claims = VersionClaims()
        for range in [0..<5, 10..<12, 5..<10, 20..<21] as [Range<UInt64>] {
            let isTaken = claims.claim(range)
            #expect(isTaken)
        }
        #expect(claims.ranges == [0..<12, 20..<21])
        for range in [0..<1, 11..<13, 19..<22, 3..<4] as [Range<UInt64>] {
            let isTaken = claims.claim(range)
            #expect(!isTaken)
        }
        _ = claims.claim(12..<20)
        #expect(claims.ranges == [0..<21])
    }

    @Test func `two posts with the same version are a fault`() {
        var ledger = TortureLedger(sessions: 1)
        for (first, version) in [(0, 3), (3, 5)] as [(UInt32, UInt64)] {
            let index = ledger.enter(
                TorturePost(session: 0, poster: 0, first: first, count: 3, hasKey: false))
            ledger.acknowledged(index, at: version)
        }
        #expect(ledger.counts == [.doubled: 1])
    }

    // MARK: Pages

    /// The verdict on a page requested at the edge of 20 kept records.
    private func page(_ status: Int, _ body: (UInt64) -> String) throws -> String? {
        var ledger = TortureLedger(sessions: 1)
        var pager = StormPager()
        var random = SeededNumbers(seed: 1)
        let early = pager.request(to: "s", kept: 20, host: "h", ledger, &random)
        #expect(early == nil)
        let position = Array("abcdefgh.500".utf8)
        let id = EventID(position.span, range: 0..<position.count, scheme: .consecutive)
        ledger.heard(try #require(id), of: 0, floor: 0)
        let bytes = pager.request(to: "s", kept: 20, host: "h", ledger, &random)
        let text = String(decoding: try #require(bytes), as: UTF8.self)
        let digits = try #require(text.split(separator: "abcdefgh.").last).prefix { $0 != "&" }
        let after = try #require(UInt64(digits))
        #expect((470...490).contains(after))
        return pager.answered(status, Array(body(after).utf8))
    }

    @Test func `a page begins after the requested position or reports a reset`() throws {
        let entries = { (number: UInt64) in
            #"{"entries":[{"position":"abcdefgh.\#(number)","time":1}]}"#
        }
        #expect(try page(200) { entries($0 + 1) } == nil)
        #expect(try page(200) { _ in #"{"entries":[]}"# } == nil)
        #expect(try page(503) { _ in "{}" } == nil)
        #expect(try page(200) { _ in #"{"reset":{"reason":"trimmed"},"entries":[]}"# } == nil)
        #expect(try page(200) { entries($0 + 2) } != nil)
        #expect(try page(200) { entries($0) } != nil)
        #expect(try page(404) { _ in "{}" } != nil)
    }

    // MARK: Hunts

    /// A hunt whose session has a stored reply, in another process than the one that sent it.
    private func hunt(_ random: inout SeededNumbers) -> StormHunt {
        var hunt = StormHunt(number: 0)
        repeat {
            hunt.begin(&random)
            for status in [201, 200] {
                let sent = hunt.connected(.poster, host: "h", &random)
                #expect(sent.count == 1)
                let fault = hunt.answered(.poster, status, Array("first".utf8), now: 0, &random)
                #expect(fault == nil)
            }
        } while hunt.phase != .resting(until: nil)
        hunt.serverStarted(isFile: true, &random)
        return hunt
    }

    @Test func `all three connect before the first one sends`() {
        var random = SeededNumbers(seed: 1)
        var hunt = hunt(&random)
        #expect(hunt.phase == .gathering)
        for part in [StormHunt.Part.deleter, .poster] {
            let early = hunt.connected(part, host: "h", &random)
            #expect(early.isEmpty)
        }
        let sent = hunt.connected(.third, host: "h", &random)
        #expect(Set(sent.map(\.part)) == Set(StormHunt.Part.allCases))
        let deletion = sent.first { $0.part == .deleter }
        let text = String(decoding: deletion?.bytes ?? [], as: UTF8.self)
        #expect(text.hasPrefix("DELETE /v1/sessions/\(hunt.session) "))
    }

    @Test(arguments: [
        (410, 204, 410, 0), (200, 204, 410, 0), (500, 204, 410, 1), (200, 204, 200, 1),
    ])
    func `a deleted session stays deleted, and the post has one of three replies`(
        post: Int, delete: Int, look: Int, faults: Int
    ) {
        var random = SeededNumbers(seed: 1)
        var found = 0
        var hunt = hunt(&random)
        for part in StormHunt.Part.allCases { _ = hunt.connected(part, host: "h", &random) }
        for (part, status) in [(StormHunt.Part.poster, post), (.deleter, delete)] {
            if hunt.answered(part, status, [], now: 0, &random) != nil { found += 1 }
        }
        #expect(hunt.completed == 1)
        // The rest of the third is irrelevant.
        let late = hunt.answered(.third, 204, [], now: 0, &random)
        #expect(late == nil)
        if hunt.phase != .checking { hunt.serverStarted(isFile: true, &random) }
        #expect(hunt.phase == .checking)
        _ = hunt.connected(.poster, host: "h", &random)
        if hunt.answered(.poster, look, [], now: 0, &random) != nil { found += 1 }
        #expect(found == faults)
        #expect(hunt.phase == .making)
    }

    @Test func `another server without a file has none of the sessions`() {
        var random = SeededNumbers(seed: 1)
        var hunt = hunt(&random)
        let session = hunt.session
        hunt.serverStarted(isFile: false, &random)
        #expect(hunt.phase == .making)
        #expect(hunt.session != session)
    }
}
