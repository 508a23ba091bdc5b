import Foundation
import Testing

@Suite("Whole lives — the calls of the archive", .timeLimit(.minutes(60)))
struct ArchiveCallTests {
    @Test func `every requirement of the archive is one of the calls that lives count`() throws {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Storage/Archive.swift")
        let text = try String(contentsOf: source.standardizedFileURL, encoding: .utf8)
        var calls: [String] = []
        for name in ["HistoryArchive", "Archive"] {
            let start = try #require(text.range(of: "package protocol \(name):"))
            let end = try #require(text.range(of: "\n}", range: start.upperBound..<text.endIndex))
            calls += text[start.upperBound..<end.lowerBound]
                .matches(of: /^ +func (\w+)\(/.anchorsMatchLineEndings())
                .map { String($0.output.1) }
        }
        #expect(Set(calls) == Set(ArchiveCall.allCases.map(\.rawValue)))
        #expect(calls.count == ArchiveCall.allCases.count)
    }
}
