import Testing

@testable import Sessions

@Suite("The vector of several positions", .timeLimit(.minutes(60)))
struct StreamVectorTests {
    @Test(arguments: [
        ("-", 1), ("x", 1), ("k3v9x0qa.4", 1), ("k3v9x0qa.4.1,-,x", 3), ("x,x", 2),
        ("k3v9x0qa.0,p0aa31zz.18446744073709551615.4294967295", 2),
    ])
    func `a vector is read as it was written`(text: String, count: Int) throws {
        let vector = try #require(StreamVector(text, count: count))
        #expect(vector.string == text)
        #expect(vector.count == count)
        let entries = text.split(separator: ",").map(String.init)
        for index in 0..<count {
            #expect(vector.isOver(at: index) == (entries[index] == "x"))
            let isPosition = entries[index].count > 1
            #expect(vector.position(at: index) == (isPosition ? entries[index] : nil))
        }
        #expect(vector.isOver == entries.allSatisfy { $0 == "x" })
    }

    @Test(arguments: [
        ("", 1), ("-", 2), ("-,-", 1), ("-,", 2), (",-", 2), ("-,-,", 2), ("X", 1), ("xx", 1),
        ("--", 1), (" -", 1), ("-, -", 2), ("k3v9x0qa", 1), ("k3v9x0qa.04", 1),
        ("k3v9x0qa.4.0", 1), ("K3v9x0qa.4", 1), ("k3v9x0qa.4;-", 2), ("a/k3v9x0qa.4", 1),
        ("k3v9x0qa.18446744073709551616", 1), ("k3v9x0qa.4\u{0}", 1), ("é", 1), ("-", 0), ("", 0),
    ])
    func `a text of another form or length is no vector`(text: String, count: Int) {
        #expect(StreamVector(text, count: count) == nil)
    }

    @Test func `an entry moves alone, whatever its length`() {
        var vector = StreamVector(count: 3)
        #expect(vector.string == "-,-,-")
        let moves: [(Int, String)] = [
            (1, "aaaaaaaa.1"), (0, "bbbbbbbb.10.3"), (2, "cccccccc.7"), (1, "aaaaaaaa.1000"),
            (0, "bbbbbbbb.11"), (2, "x"), (1, "x"), (0, "x"),
        ]
        var entries = ["-", "-", "-"]
        for (index, text) in moves {
            if text == "x" { vector.end(index) } else { vector.advance(index, to: text.utf8) }
            entries[index] = text
            #expect(vector.string == entries.joined(separator: ","))
            #expect(StreamVector(vector.string, count: 3) == vector)
        }
        #expect(vector.isOver)
    }
}
