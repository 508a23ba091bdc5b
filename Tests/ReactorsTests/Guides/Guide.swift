import Foundation

/// A page of documentation, whose code must be in the file that compiles it.
struct Guide {
    /// The blocks of Swift, as lines without indentation; without those after `<!-- before: … -->`,
    /// which do not compile (`.ci/guides`).
    let blocks: [[String]]

    private let compiled: [String]

    /// - Parameters:
    ///   - path: the page, from the root of the package.
    ///   - file: the test file that contains every block of it, word for word, in any indentation.
    init(_ path: String, compiledIn file: String) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let compiling = page.replacing(/<!-- before: .* -->\n```swift\n/, with: "```before\n")
        blocks = compiling.split(separator: "```swift\n").dropFirst().compactMap {
            $0.split(separator: "```").first.map(Self.lines)
        }
        compiled = Self.lines(try String(contentsOfFile: file, encoding: .utf8))
    }

    /// The blocks that the test file does not contain.
    var strayBlocks: [[String]] { blocks.filter { !compiled.contains($0) } }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}
