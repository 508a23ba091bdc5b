import Foundation

/// A page of documentation, whose code must be in files that are compiled.
struct Guide {
    /// The blocks of Swift, as lines without indentation; without those after `<!-- before: … -->`,
    /// which do not compile (`.ci/guides`).
    let blocks: [[String]]

    private let compiled: [String]

    /// - Parameters:
    ///   - path: the page, from the root of the package.
    ///   - file: the test file that contains its blocks, word for word, in any indentation.
    ///   - others: those with the other blocks, from the root of the package.
    init(_ path: String, compiledIn file: String, _ others: String...) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let compiling = page.replacing(/<!-- before: .* -->\n```swift\n/, with: "```before\n")
        blocks = compiling.split(separator: "```swift\n").dropFirst().compactMap {
            $0.split(separator: "```").first.map(Self.lines)
        }
        let files = [URL(fileURLWithPath: file)] + others.map { root.appending(path: $0) }
        compiled = try files.flatMap { Self.lines(try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// The blocks that none of the files contains.
    var strayBlocks: [[String]] { blocks.filter { !compiled.contains($0) } }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}
