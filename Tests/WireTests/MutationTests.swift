import TestRandomness
import Testing
import WireFeeds

@testable import Wire

/// Damages inputs in ways that expose faults of parsers.
struct Mutator {
    var generator: SeededGenerator
    /// Bytes with a meaning for the parsers under test.
    let significant: [UInt8] =
        Array("\r\n\r\n :;,\t\u{0}\u{7f}0123456789abcdefg%?#/[]+-\"".utf8) + [0xff]

    mutating func mutate(_ seeds: [[UInt8]]) -> [UInt8] {
        var bytes = seeds.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            damage(&bytes, seeds)
        }
        return bytes
    }

    mutating func cuts(in bytes: [UInt8]) -> [Int] {
        let count = Int.random(in: 0...6, using: &generator)
        return (0..<count).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
    }

    private mutating func damage(_ bytes: inout [UInt8], _ seeds: [[UInt8]]) {
        let place = Int.random(in: 0...bytes.count, using: &generator)
        let byte = significant.randomElement(using: &generator) ?? 0
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: bytes.insert(byte, at: place)
        case 1 where place < bytes.count: bytes[place] = byte
        case 2 where place < bytes.count: bytes.remove(at: place)
        case 3: bytes.insert(contentsOf: seeds.randomElement(using: &generator) ?? [], at: place)
        case 4:
            let end = Int.random(in: place...bytes.count, using: &generator)
            bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
        default: bytes.removeSubrange(place...)
        }
    }
}

@Suite("Any bytes in any pieces — the same result and no trap", .timeLimit(.minutes(60)))
struct MutationTests {
    private let requests: [[UInt8]] = [
        nextRequest,
        "POST /v1/a?b=c HTTP/1.1\r\nHost: h:80\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3;a=b\r\nabc\r\n0\r\nT: u\r\n\r\n",
        "GET http://h/p?q HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nConnection: a, close\r\nLast-Event-ID: g.1\r\n\r\n",
        "Content-Length: 1\r\n", "Transfer-Encoding: gzip\r\n", "Host: y\r\n", "\r\n",
    ].map { Array($0.utf8) }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `repeated requests give the same result with and without a kept head`(seed: UInt64) {
        var mutator = Mutator(generator: SeededGenerator(seed: seed))
        for _ in 0..<300 {
            let once = mutator.mutate(requests)
            let bytes = once + once + once + mutator.mutate(requests) + once + once
            for cuts in [[], mutator.cuts(in: bytes)] {
                let plain = feed(bytes, cutAt: cuts)
                if feed(bytes, cutAt: cuts, remembers: true) != plain {
                    Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription)")
                }
            }
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `requests give the same result in any pieces`(seed: UInt64) {
        var mutator = Mutator(generator: SeededGenerator(seed: seed))
        var limits = RequestLimits()
        limits.headBytes = 200
        limits.targetBytes = 40
        limits.fieldCount = 5
        limits.bodyBytes = 12
        limits.chunkExtensionBytes = 8
        limits.trailerBytes = 16
        var accepted = 0
        var refused: Set<String> = []
        for _ in 0..<1_500 {
            let bytes = mutator.mutate(requests)
            let whole = feed(bytes, limits: limits)
            let single = feed(bytes, cutAt: Array(0..<bytes.count), limits: limits)
            let cut = feed(bytes, cutAt: mutator.cuts(in: bytes), limits: limits)
            if whole != single || whole != cut || !whole.offsetsWereSound {
                Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            }
            accepted += whole.requests.count
            if let refusal = whole.refusal { refused.insert(refusal.code) }
            for request in whole.requests {
                #expect(request.body.utf8.count <= 36, "12 bytes, each replaced by 3 at most")
                #expect(request.fields.count <= 5)
                #expect(!request.path.isEmpty)
            }
        }
        // The inputs are useful only if they reach both ends.
        #expect(accepted > 200)
        #expect(refused.count > 12)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `event streams give the same result in any pieces`(seed: UInt64) {
        let seeds = [
            "retry: 2000\n\n", ": ping\n\n", "event: a\r\nid: g.1\r\ndata: x\r\n\r\n",
            "data: a\rdata: b\r\r", "id\n\n", "\u{feff}data: é\n\n", "data\n\n", "\r", "\n",
        ].map { Array($0.utf8) }
        var mutator = Mutator(generator: SeededGenerator(seed: seed))
        var events = 0
        for _ in 0..<2_000 {
            let bytes = mutator.mutate(seeds)
            let whole = decode(bytes, limit: 40)
            let single = decode(bytes, cutAt: Array(0..<bytes.count), limit: 40)
            let cut = decode(bytes, cutAt: mutator.cuts(in: bytes), limit: 40)
            if whole != single || whole != cut {
                Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            }
            events += whole.events.count
        }
        #expect(events > 300)
    }

    @Test func `queries are read or refused`() {
        let seeds = ["a=b&c=%20", "%c3%a9", "+%2B", "&&", "%", "=%ff"].map { Array($0.utf8) }
        var mutator = Mutator(generator: SeededGenerator(seed: 9))
        var read = 0
        var refused: Set<String> = []
        for _ in 0..<5_000 {
            let bytes = mutator.mutate(seeds)
            do {
                let items = try QueryItems(bytes, 0..<bytes.count, limit: 2)
                read += 1
                #expect(items.items.count <= 2)
            } catch {
                refused.insert(error.code)
            }
        }
        #expect(read > 1_000)
        #expect(refused.count == 3)
    }
}
