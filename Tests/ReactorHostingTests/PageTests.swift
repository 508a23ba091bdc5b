import Foundation
import Testing

@testable import ReactorHosting

@Suite("Embedded pages", .timeLimit(.minutes(60)))
struct PageTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources").standardizedFileURL

    @Test(arguments: [("Console", "/console"), ("Demo", "/demo")])
    func `every file of a page is embedded as it is`(name: String, root: String) throws {
        let folder = Self.sources.appending(path: name)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var paths: Set<String> = []
        for name in names {
            let path = "/\(name)" == "\(root).html" ? root : "\(root)/\(name)"
            let page = try #require(Page.embedded[path], "\(name) is not in CPages.c")
            #expect(
                try Data(contentsOf: folder.appending(path: name)) == Data(page.bytes), "\(name)")
            paths.insert(path)
        }
        #expect(Set(Page.embedded.keys.filter { $0.hasPrefix(root) }) == paths)
    }

    @Test func `every file of the JavaScript client is embedded as it is`() throws {
        let folder = Self.sources.appending(path: "BrowserClient")
        let parts = try FileManager.default.contentsOfDirectory(
            atPath: folder.appending(path: "reactor-client").path)
        let names = parts.filter { $0.hasSuffix(".js") }.map { "reactor-client/\($0)" }
        let beside = ["reactor-client.js", "outbox-indexeddb.js", "react.js"]
        for name in beside + names {
            let page = try #require(Page.embedded["/\(name)"], "\(name) is not in CPages.c")
            #expect(
                try Data(contentsOf: folder.appending(path: name)) == Data(page.bytes), "\(name)")
        }
        let served = Page.embedded.keys.filter { $0.hasPrefix("/reactor-client") }
        #expect(Set(served) == Set(["/reactor-client.js"] + names.map { "/\($0)" }))
    }

    @Test func `a tag is a version of the bytes`() {
        func tag(_ text: String) -> String {
            Page(path: "/", mediaType: "text/plain", bytes: Array(text.utf8)).tag
        }
        #expect(tag("a") == tag("a"))
        #expect(tag("a") != tag("b"))
        // The hash of no bytes is FNV's offset basis.
        #expect(tag("") == "cbf29ce484222325")
        #expect(Set(Page.embedded.values.map(\.tag)).count == Page.embedded.count)
    }
}

@Suite("Who gets the console", .timeLimit(.minutes(60)))
struct ConsoleAccessTests {
    private func admits(_ access: ConsoleAccess, _ fields: String...) throws -> Bool {
        access.admits(try HeadOf("GET", "/console", fields, host: nil).head)
    }

    @Test(arguments: [
        ("localhost", true), ("LocalHost:80", true), ("127.0.0.1", true), ("127.0.0.1:8080", true),
        ("[::1]", true), ("[::1]:8080", true),
        ("", false), ("localhost.", false), ("127.0.0.2", false), ("0.0.0.0", false),
        ("[::]", false), ("[::2]", false), ("192.168.0.7:8080", false), ("evil.example", false),
        ("localhost.evil.example", false), ("127.0.0.1.evil.example", false),
    ])
    func `loopback is for requests to a loopback name`(host: String, isAdmitted: Bool) throws {
        #expect(try admits(.loopback, "Host: \(host)") == isAdmitted)
        #expect(try admits(.everybody, "Host: \(host)"))
        #expect(try !admits(.nobody, "Host: \(host)"))
    }

    @Test(arguments: [
        "Forwarded: for=192.0.2.1", "forwarded:", "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Host: a", "x-forwarded-proto: https", "X-FORWARDED-ANYTHING: 1", "Via: 1.1 p",
    ])
    func `loopback is not for requests that a proxy forwards`(field: String) throws {
        #expect(try !admits(.loopback, "Host: localhost", field))
        #expect(try !admits(.loopback, field, "Host: localhost"))
        #expect(try admits(.everybody, "Host: localhost", field))
    }

    @Test(arguments: [
        "X-Forwarded: 1", "Viable: 1", "X-Real: 1", "Forwarded-For: 1", "Accept: via",
    ])
    func `other fields do not matter`(field: String) throws {
        #expect(try admits(.loopback, "Host: localhost", field))
    }

    @Test func `an absolute target names the host`() throws {
        let head = try HeadOf(
            "GET", "http://evil.example/console", ["Host: localhost"], host: nil
        ).head
        #expect(!ConsoleAccess.loopback.admits(head))
    }

    @Test func `without a loopback address, or with tokens, loopback is nobody`() {
        for (isLoopback, authenticates, isServed) in [
            (true, false, true), (false, false, false), (true, true, false), (false, true, false),
        ] {
            let access = ConsoleAccess(
                .loopback, isLoopback: isLoopback, authenticates: authenticates)
            if case .loopback = access {
                #expect(isServed)
            } else if case .nobody = access {
                #expect(!isServed)
            } else {
                Issue.record("it is for everybody")
            }
        }
        if case .everybody = ConsoleAccess(.on, isLoopback: false, authenticates: true) {
        } else {
            Issue.record("on is not for everybody")
        }
        if case .nobody = ConsoleAccess(.off, isLoopback: true, authenticates: false) {
        } else {
            Issue.record("off is for somebody")
        }
    }
}
