import ClientMachine
import TestRandomness
import Testing

@testable import ReactorClient

@Suite("ADR-0042 — the form of an outbox's file", .timeLimit(.minutes(15)))
struct OutboxFormTests {
    /// A file with several groups, where each ends, and the contents up to there.
    private struct Sample {
        var bytes: [UInt8]
        var ends: [Int]
        var contents: [OutboxContents]
    }

    private func sample(seed: UInt64, groups: Int = 6) throws -> Sample {
        var script = try OutboxScript(seed: seed)
        for _ in 0..<5 { _ = script.group() }
        _ = script.state()
        let beginning = script.contents.encoded(account: "ada")
        var sample = Sample(
            bytes: beginning, ends: [beginning.count], contents: [script.contents])
        for _ in 0..<groups {
            var content: [UInt8] = []
            for change in script.group() { OutboxLine.change(change).append(to: &content) }
            let (session, state) = script.state()
            OutboxLine.state(session, state).append(to: &content)
            sample.bytes += OutboxGroup.encoded(content)
            sample.ends.append(sample.bytes.count)
            sample.contents.append(script.contents)
        }
        return sample
    }

    private func read(
        _ bytes: [UInt8], _ account: String? = "ada"
    ) throws(OutboxContents.Fault) -> (OutboxContents, Int) {
        try OutboxContents.read(bytes, account: account, keepsStates: true)
    }

    private func fault(_ bytes: [UInt8], _ account: String? = "ada") -> OutboxContents.Fault? {
        do throws(OutboxContents.Fault) {
            _ = try read(bytes, account)
            return nil
        } catch {
            return error
        }
    }

    @Test func `every outbox is read as it was written, without its past too`() throws {
        for seed in 0..<100 as Range<UInt64> {
            let sample = try sample(seed: seed)
            let (contents, length) = try read(sample.bytes)
            #expect(contents == sample.contents.last, "seed \(seed)")
            #expect(length == sample.bytes.count)
            let again = try read(contents.encoded(account: "ada")).0
            #expect(again == contents, "seed \(seed)")
        }
    }

    @Test func `a file that is cut at any byte has its whole groups`() throws {
        for seed in 0..<2 as Range<UInt64> {
            let sample = try sample(seed: seed)
            for cut in 0..<sample.bytes.count {
                let whole = sample.ends.lastIndex { $0 <= cut }
                for zeros in [0, 40] {
                    let bytes = sample.bytes.prefix(cut) + [UInt8](repeating: 0, count: zeros)
                    guard let whole else {
                        #expect(fault(Array(bytes)) != nil, "cut at \(cut)")
                        continue
                    }
                    let (contents, length) = try read(Array(bytes))
                    #expect(contents == sample.contents[whole], "cut at \(cut)")
                    #expect(length == sample.ends[whole])
                }
            }
        }
    }

    @Test func `a bit that is wrong anywhere is found, with the place of its group`() throws {
        let sample = try sample(seed: 1, groups: 3)
        var bytes = sample.bytes
        for index in bytes.indices {
            let group = ([0] + sample.ends).last { $0 <= index }
            for bit in 0..<8 {
                bytes[index] ^= 1 << bit
                defer { bytes[index] ^= 1 << bit }
                guard case .damaged(let offset, _) = fault(bytes) else {
                    Issue.record("bit \(bit) of byte \(index) was not noticed")
                    continue
                }
                #expect(offset == group, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test func `another file is refused by what it is`() throws {
        let mine = OutboxContents().encoded(account: nil)
        #expect(fault(mine, nil) == nil)
        #expect(fault(mine, "ada") == .account(nil))
        let adas = OutboxContents().encoded(account: "ada")
        #expect(fault(adas, "bob") == .account("ada"))
        #expect(fault(adas, nil)?.description == "it belongs to the account ada")
        let newer = OutboxGroup.encoded(Array("reactor-client-outbox 3 something else\n".utf8))
        #expect(fault(newer) == .version(3))
        let other = OutboxGroup.encoded(Array("hello\n".utf8))
        #expect(fault(other) == .damaged(at: 27, "the file is no outbox of a client"))
        #expect(fault([]) == .damaged(at: 0, "the file ends in its first group"))
        #expect(
            fault(Array("hello, this is a text of some length\n".utf8))?.description
                == "damaged at byte 0: the head of a group does not have its checksum")
    }

    @Test func `form 1, whose refusals have no actions, is read`() throws {
        let lines = "reactor-client-outbox 1 - \nn 5\nr a 3 422 1 1 xy\nq a 4 - - - 2 {}\n"
        let (contents, _) = try OutboxContents.read(
            OutboxGroup.encoded(Array(lines.utf8)), account: nil, keepsStates: false)
        let refusal = contents.outbox.settlements[TicketNumber(3)]
        #expect(refusal?.entry == nil)
        #expect(refusal?.outcome == .refused(.init(status: 422, code: "x", detail: "y")))
        #expect(contents.outbox[try name("a")].entries.map(\.ticket.number) == [4])
        #expect(contents.outbox.actionCount == 2)
    }

    @Test(arguments: [
        "d a AAAA", "d a AAAA x", "w a", "x 0x1", "x 1 ", "q a 9 - - - 5 {}", "q a 9 - - - , {}",
        "q a 9 y - - 2 {}", "q a 9 - y - 2 {}", "q a 9 - - 3 2 {}", "q a 9 - - - -1 {}",
        "q ä 9 - - - 2 {}", "q a 0 - - - 2 {}", "s a k 1 0 2 {}", "s a k 1 2 2 {}", "r a 1 422 0 1",
        "g a 77", "c a x 2 {}", "c a - 2 {}", "c a abcd1234.1 99999999999999999999 {}", "z", "",
        "n 5", "reactor-client-outbox 1 - ",
    ])
    func `a line that no writer writes is damage`(_ line: String) throws {
        let beginning = OutboxContents().encoded(account: "ada")
        let bytes = beginning + OutboxGroup.encoded(Array((line + "\n").utf8))
        guard case .damaged(let offset, _) = fault(bytes) else {
            Issue.record("it was read")
            return
        }
        #expect(offset == beginning.count + OutboxGroup.headLength)
    }

    @Test func `the states have a bound, and the oldest go`() throws {
        var contents = OutboxContents()
        let half = [UInt8](repeating: 7, count: OutboxContents.stateLimitBytes / 2)
        let position = StreamPosition("abcd1234", 1)
        for text in ["a", "b", "a", "c"] {
            contents.apply(SavedState(position: position, state: half), of: try name(text))
        }
        #expect(Set(contents.states.keys) == [try name("a"), try name("c")])
    }
}
