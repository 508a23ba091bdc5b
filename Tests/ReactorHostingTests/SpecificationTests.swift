import Testing

@testable import ReactorHosting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("openapi.yaml — matches the router", .timeLimit(.minutes(60)))
struct SpecificationTests {
    @Test func `paths, methods and operationIds equal those of the table`() throws {
        let text = String(decoding: Page.specification, as: UTF8.self)
        let told = try operations(in: text)
        let served = Set(
            Route.table.map { "\($0.method) \($0.path) \($0.operationID)" })
        #expect(told.subtracting(served) == [], "told and not served")
        #expect(served.subtracting(told) == [], "served and not told")
    }

    @Test func `the parameters of each query equal those of the table`() throws {
        let specified = parameters(in: String(decoding: Page.specification, as: UTF8.self))
        for route in Route.table {
            guard let known = route.parameters else { continue }
            // The specification has it among its security schemes, because any stream may have it.
            let told = known.filter { $0 != "ticket" }
            #expect(Set(told) == specified[route.operationID, default: []], "\(route.operationID)")
            #expect(Set(known).count == known.count, "\(route.operationID)")
        }
    }

    /// The names in queries, by `operationId`: written out, or by reference.
    private func parameters(in text: String) -> [String: Set<String>] {
        let lines = text.split(separator: "\n").map { line -> (indent: Int, word: Substring) in
            (line.prefix { $0 == " " }.count, line.drop { $0 == " " })
        }
        var shared: [Substring: Substring] = [:]
        for (index, line) in lines.enumerated() where line.indent == 6 && line.word == "in: query" {
            let name = lines[index - 1].word
            guard name.hasPrefix("name: ") else { continue }
            shared[lines[index - 2].word.dropLast()] = name.dropFirst(6)
        }
        var parameters: [String: Set<String>] = [:]
        var operation = ""
        for (index, line) in lines.enumerated() {
            if line.indent == 6, line.word.hasPrefix("operationId: ") {
                operation = String(line.word.dropFirst(13))
            }
            guard line.indent >= 8, line.word.hasPrefix("- ") else { continue }
            if line.word.hasPrefix("- name: "), lines[index + 1].word == "in: query" {
                parameters[operation, default: []].insert(String(line.word.dropFirst(8)))
            }
            let reference = "- {$ref: '#/components/parameters/"
            guard line.word.hasPrefix(reference),
                let name = shared[line.word.dropFirst(reference.count).dropLast(2)]
            else { continue }
            parameters[operation, default: []].insert(String(name))
        }
        return parameters
    }

    /// The journal may fail, and memory may be full, for any request about a session.
    @Test func `an operation that reads the journal declares that it may be unavailable`() throws {
        let statuses = statuses(in: String(decoding: Page.specification, as: UTF8.self))
        let elsewhere: Set<String> = [
            "listReactors", "createTicket", "setCookie", "removeCookie", "livez", "metrics",
            "openapi", "home", "console", "consoleFile", "client", "clientFile", "clientOutbox",
            "clientHook", "demo",
            "demoFile",
        ]
        for route in Route.table where !elsewhere.contains(route.operationID) {
            let declared = try #require(statuses[route.operationID])
            // A stream reports it in its body, with 200.
            let isStream = route.operationID.hasPrefix("stream")
            #expect(declared.contains("503") == !isStream, "\(route.operationID)")
            guard route.isServedBySession, !isStream else { continue }
            #expect(declared.isSuperset(of: ["504", "507"]), "\(route.operationID)")
        }
    }

    /// By `operationId`, which precedes the statuses at indentation 8.
    private func statuses(in text: String) -> [String: Set<String>] {
        var statuses: [String: Set<String>] = [:]
        var operation = ""
        for line in text.split(separator: "\n") {
            let word = line.drop { $0 == " " }
            if word.hasPrefix("operationId: ") { operation = String(word.dropFirst(13)) }
            guard line.hasPrefix("        '"), line.count > 13 else { continue }
            statuses[operation, default: []].insert(String(word.dropFirst().prefix(3)))
        }
        return statuses
    }

    @Test func `the embedded specification is the file at the top of the repository`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        #expect(try bytes(of: "/\(root)/openapi.yaml") == Page.specification)
    }

    @Test func `the codes of problems equal those of the page about errors`() throws {
        let text = String(decoding: Page.specification, as: UTF8.self)
        let start = try #require(text.firstRange(of: "[malformed_json, not_an_action,"))
        let end = try #require(text[start.lowerBound...].firstIndex(of: "]"))
        let lines = text[start.lowerBound..<end].split(separator: "\n").filter {
            !$0.contains("#")
        }
        let specified = lines.joined().split { !($0.isLetter || $0.isNumber || $0 == "_") }
        #expect(Set(specified).count == specified.count)
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let path = "/\(root)/Sources/ReactorHosting/ReactorHosting.docc/Errors.md"
        let page = String(decoding: try bytes(of: path), as: UTF8.self)
        // The first cell of a row has codes, each between backquotes; the second has their status.
        var told: [Substring] = []
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            try #require(cells.count > 3, "\(line)")
            let statuses = cells[2].split { $0 == " " || $0 == "," }
            #expect(!statuses.isEmpty && statuses.allSatisfy(Self.isStatusOfProblem), "\(line)")
            let pieces = cells[1].split(separator: "`", omittingEmptySubsequences: false)
            told += pieces.indices.filter { $0 % 2 == 1 }.map { pieces[$0] }
        }
        #expect(Set(told).count == told.count)
        #expect(Set(told).subtracting(specified) == [], "told and not specified")
        #expect(Set(specified).subtracting(told) == [], "specified and not told")
    }

    private static func isStatusOfProblem(_ text: Substring) -> Bool {
        Int(text).map { (400..<600).contains($0) } ?? false
    }

    /// The relevant lines, by indentation: a path at 2, a method at 4, `operationId` at 6.
    private func operations(in text: String) throws -> Set<String> {
        let methods: Set<String> = ["get", "put", "post", "delete", "patch", "head", "options"]
        var operations: Set<String> = []
        var isInPaths = false
        var path = ""
        var method = ""
        for line in text.split(separator: "\n") {
            let indent = line.prefix { $0 == " " }.count
            let word = line.dropFirst(indent)
            if indent == 0, !word.hasPrefix("#") { isInPaths = word == "paths:" }
            guard isInPaths else { continue }
            if indent == 2, word.hasPrefix("/") { path = String(word.dropLast()) }
            if indent == 4, methods.contains(String(word.dropLast())) {
                method = word.dropLast().uppercased()
            }
            if indent == 6, word.hasPrefix("operationId: ") {
                let isNew = operations.insert("\(method) \(path) \(word.dropFirst(13))").inserted
                try #require(isNew, "an operationId is unique")
            }
        }
        return operations
    }

    private func bytes(of path: String) throws -> [UInt8] {
        let file = unsafe fopen(path, "r")
        guard let file = unsafe file else { throw NoFile(path: path) }
        defer { unsafe _ = fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = unsafe fgetc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return bytes
    }

    private struct NoFile: Error {
        var path: String
    }
}
