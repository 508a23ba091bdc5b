import ClientMachine
import TestRandomness
import Testing

@testable import ReactorClient

@Suite("ADR-0042 — the form of an outbox's file", .timeLimit(.minutes(60)))
struct OutboxFormTests {
    /// A file with several lines, where each ends, and the contents up to there.
    private struct Sample {
        var bytes: [UInt8]
        var ends: [Int]
        var contents: [OutboxContents]
    }

    private func sample(seed: UInt64, lines: Int = 6) throws -> Sample {
        var script = try OutboxScript(seed: seed)
        for _ in 0..<5 { _ = script.group() }
        _ = script.state()
        let beginning = script.contents.encoded(account: "ada")
        var sample = Sample(
            bytes: beginning, ends: [beginning.count], contents: [script.contents])
        for _ in 0..<lines {
            let changes = script.group().map(OutboxRecord.init)
            let (session, state) = script.state()
            sample.bytes += OutboxLine.encoded(changes + [OutboxRecord(state, of: session)])
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

    @Test func `a file that is cut at any byte has its whole lines`() throws {
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

    @Test func `a bit that is wrong anywhere is found, with the place of its line`() throws {
        let sample = try sample(seed: 1, lines: 3)
        var bytes = sample.bytes
        for index in bytes.indices {
            let line = ([0] + sample.ends).last { $0 <= index }
            for bit in 0..<8 {
                bytes[index] ^= 1 << bit
                defer { bytes[index] ^= 1 << bit }
                guard case .damaged(let offset, _) = fault(bytes) else {
                    Issue.record("bit \(bit) of byte \(index) was not noticed")
                    continue
                }
                #expect(offset == line, "bit \(bit) of byte \(index)")
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
        // Equal texts for Swift, and other bytes.
        let composed = OutboxContents().encoded(account: "J\u{f8}rgen \u{e9}")
        #expect(fault(composed, "J\u{f8}rgen \u{e9}") == nil)
        #expect(fault(composed, "J\u{f8}rgen e\u{301}") == .account("J\u{f8}rgen \u{e9}"))
        let newer = line(#"[{"form":4,"kind":"unheard"},{"kind":7,"account":[]},1]"#)
        #expect(fault(newer) == .version(4))
        let other = line(#"["hello"]"#)
        #expect(fault(other) == .damaged(at: 0, "the file is not an outbox of a client"))
        #expect(fault([]) == .damaged(at: 0, "the file ends in its first line"))
        #expect(
            fault(Array("hello, this is a text of some length\n".utf8))?.description
                == "damaged at byte 0: a line does not have its checksum")
    }

    /// Its content is a group of words with their lengths.
    @Test(arguments: [1, 2])
    func `a file of an earlier form is refused, and the sentence says what to do`(form: Int) {
        let head = "0000003a 5f0a3d51 2c9e7d11\n"
        let lines = "reactor-client-outbox \(form) 3 ada\nn 5\nq a 4 - - - 2 {}\n"
        #expect(
            fault(Array((head + lines).utf8))?.description
                == "it has form \(form), written by another version of this library: "
                + "send its actions with that version, or use another file")
    }

    private func line(_ json: String) -> [UInt8] {
        let text = Array(json.utf8)
        let digits = String(Checksum.of(text[...]), radix: 16)
        let padding = String(repeating: "0", count: 8 - digits.count)
        return Array((padding + digits + " " + json + "\n").utf8)
    }

    @Test(arguments: [
        #"{"kind":"done","session":"a","key":"AAAA"}"#, #"{"kind":"done","session":"a"}"#,
        #"{"kind":"withdrawn","key":"k"}"#, #"{"kind":"seen","ticket":1}"#, #"{"kind":"seen"}"#,
        #"{"kind":"seen","ticket":"1"}"#, #"{"kind":"queued","session":"a","ticket":9}"#,
        #"{"kind":"queued","session":"a","ticket":9,"actions":[]}"#,
        #"{"kind":"queued","session":"a","ticket":9,"actions":[{}]}"#,
        #"{"kind":"queued","session":"a","ticket":9,"actions":["{}"],"expects":"y"}"#,
        #"{"kind":"queued","session":"ä","ticket":9,"actions":["{}"]}"#,
        #"{"kind":"queued","session":"a","ticket":0,"actions":["{}"]}"#,
        #"{"kind":"sent","session":"a","key":"k","date":1,"count":2,"body":"{}"}"#,
        #"{"kind":"sent","session":"a","key":"k","date":1,"count":2}"#,
        #"{"kind":"inDoubt","session":"a","ticket":1,"actions":["{}"]}"#,
        #"{"kind":"refused","session":"a","ticket":1}"#, #"{"kind":"inDoubt","session":"a"}"#,
        #"{"kind":"discarded","session":"a","ticket":77}"#, #"{"kind":"next","ticket":0}"#,
        #"{"kind":"state","position":"abcd1234.1"}"#,
        #"{"kind":"state","session":"a","position":"x","state":"{}"}"#, #"{"kind":"unheard"}"#,
        #"{"kind":"head","form":3}"#, "{}", "1", #"{"kind":"next","ticket":9"#,
    ])
    func `a record that no writer writes is damage`(_ record: String) throws {
        let beginning = OutboxContents().encoded(account: "ada")
        guard case .damaged(let offset, _) = fault(beginning + line("[\(record)]")) else {
            Issue.record("it was read")
            return
        }
        #expect(offset == beginning.count)
    }

    @Test func `a whole line whose line feed is another byte is damage`() throws {
        var bytes = try sample(seed: 3).bytes
        bytes[bytes.count - 1] = UInt8(ascii: "x")
        guard case .damaged(_, "a line has no end") = fault(bytes) else {
            Issue.record("it was read")
            return
        }
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
