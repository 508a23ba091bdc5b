import Cluster
import Foundation
import Reactors
import Sockets
import Testing

@testable import ReactorHosting

@Suite(
    "Settings of links — a server is a node only if others can reach and believe it",
    .timeLimit(.minutes(60)))
struct LocalNodeTests {
    private static let secret = String(repeating: "s", count: 32)

    @Test func `a node on this machine needs no secret`() throws {
        var configuration = Configuration()
        configuration.loops = 3
        let node = try LocalNode(
            configuration, boundTo: .tcp(host: "::1", port: 7_080), isLoopback: true,
            try RunningServer.registrations([Hosted("switch") { Switch() }]))
        #expect(node.secrets.isEmpty)
        #expect(node.member.address == "[::1]:7080")
        #expect(node.member.loops == 3)
        #expect(node.member.reactors == ["switch": 3, "$topic": 1])
        #expect(!node.member.isLeaving)
        let other = try LocalNode(
            configuration, boundTo: .tcp(host: "::1", port: 7_080), isLoopback: true, [])
        #expect(other.member.node != node.member.node, "each process is another node")
    }

    @Test func `others dial the address that is set for them`() throws {
        let file = try SecretFile(Self.secret)
        defer { file.remove() }
        var configuration = Configuration()
        configuration.clusterSecretPath = file.path
        configuration.linkAddress = LinkAddress(host: "node.example", port: 7)
        let node = try LocalNode(
            configuration, boundTo: .tcp(host: "0.0.0.0", port: 9), isLoopback: true, [])
        #expect(node.member.address == "node.example:7")
    }

    @Test func `a program with its own authenticator needs a secret on loopback`() throws {
        var configuration = Configuration()
        configuration.journal = .postgres(address: "postgres://u@h/d")
        configuration.link = LinkAddress(host: "127.0.0.1", port: 7_080)
        func faults(authenticates: Bool) throws -> [String] {
            do {
                try ReactorServer(hosting: [], configuration: configuration)
                    .checkStart(authenticates: authenticates)
                return []
            } catch let failure as ConfigurationFailure {
                return failure.sentences
            }
        }
        #expect(try faults(authenticates: false) == [])
        let sentences = try faults(authenticates: true)
        #expect(sentences.count == 1)
        #expect(sentences.first?.contains("set --cluster-secret-file to a file") == true)
        let file = try SecretFile(Self.secret)
        defer { file.remove() }
        configuration.clusterSecretPath = file.path
        #expect(try faults(authenticates: true) == [])
    }

    /// A program that reaches a link without a secret may say that a request has any grants.
    @Test func `on loopback, too, tokens or an address for others need a secret`() throws {
        var withTokens = Configuration()
        withTokens.authentication = .jwt
        var behindTunnel = Configuration()
        behindTunnel.linkAddress = LinkAddress(host: "127.0.0.1", port: 7)
        let file = try SecretFile(Self.secret)
        defer { file.remove() }
        for (var configuration, reason) in [
            (withTokens, "--auth jwt"), (behindTunnel, "127.0.0.1:7"),
        ] {
            func node() throws -> LocalNode {
                try LocalNode(
                    configuration, boundTo: .tcp(host: "127.0.0.1", port: 9), isLoopback: true, [])
            }
            let failure = #expect(throws: ConfigurationFailure.self) { try node() }
            #expect(failure?.sentences.count == 1)
            #expect(failure?.sentences.first?.contains(reason) == true)
            #expect(
                failure?.sentences.first?.contains("set --cluster-secret-file to a file") == true)
            configuration.clusterSecretPath = file.path
            #expect(try node().secrets == [Array(Self.secret.utf8)])
        }
    }

    private static let next = String(repeating: "t", count: 40)

    @Test(arguments: [
        (secret, [secret]), (secret + "\n", [secret]), (secret + "\r\n", [secret]),
        (secret + "\r\r\n\n", [secret]), (next + "\n" + secret, [next, secret]),
        ("\r\n" + next + "\r\n" + secret + "\r\n", [next, secret]),
        (secret + " \t\n", [secret + " \t"]),
        // Not text, so a line feed in it is part of the secret.
        (secret + "\n\u{1}\n", [secret + "\n\u{1}"]),
    ])
    func `each line is a secret, without its end`(contents: String, expected: [String]) throws {
        let file = try SecretFile(contents)
        defer { file.remove() }
        #expect(try file.node(isLoopback: false).secrets == expected.map { Array($0.utf8) })
    }

    @Test func `there are 4 secrets at most`() throws {
        let file = try SecretFile(String(repeating: Self.secret + "\n", count: 5))
        defer { file.remove() }
        let failure = #expect(throws: ConfigurationFailure.self) {
            try file.node(isLoopback: true)
        }
        #expect(failure?.sentences.first?.hasSuffix("has 5 secrets; at most 4 are allowed") == true)
    }

    @Test(arguments: ["", "short", secret.dropLast() + "\n", secret + "\nshort", "\r\n"])
    func `a short secret is refused, and not shown`(contents: String) throws {
        let file = try SecretFile(contents)
        defer { file.remove() }
        let failure = #expect(throws: ConfigurationFailure.self) {
            try file.node(isLoopback: true)
        }
        let sentences = failure?.sentences ?? []
        #expect(sentences.count == 1)
        #expect(
            sentences.first?.hasPrefix("--cluster-secret-file: \(file.path): the secret ") == true)
        #expect(!sentences.contains { !contents.isEmpty && $0.contains(contents) })
    }

    @Test func `all reasons are reported together`() {
        var configuration = Configuration()
        configuration.linkAddress = LinkAddress(host: "a", port: 0)
        let failure = #expect(throws: ConfigurationFailure.self) {
            try LocalNode(
                configuration, boundTo: .tcp(host: "10.0.0.1", port: 9), isLoopback: false, [])
        }
        #expect(failure?.sentences.count == 2)
        configuration.clusterSecretPath = "/nowhere"
        configuration.linkAddress = nil
        let other = #expect(throws: ConfigurationFailure.self) {
            try LocalNode(
                configuration, boundTo: .tcp(host: "::", port: 9), isLoopback: false, [])
        }
        #expect(other?.sentences.count == 2)
        #expect(other?.sentences.first?.contains("set --link-address") == true)
        #expect(other?.sentences.last?.hasPrefix("--cluster-secret-file: /nowhere: ") == true)
    }

    @Test func `links need a journal that several servers can use`() throws {
        for (typed, count) in [
            ([:], 0), (["link": "a:1", "journal": "postgres://h/d"], 0), (["link": "a:1"], 1),
            (["link": "a:1", "journal": "memory"], 1), (["link-address": "a:1"], 1),
            (["link-address": "a:1", "cluster-secret-file": "/s", "journal": "memory"], 2),
        ] {
            let read = try Configuration(typed: typed, environment: [:])
            #expect(read.linkRefusals.count == count, "\(typed)")
        }
    }
}

private struct Switch: Reactor {
    enum Action: Codable, Sendable { case flip }

    struct State: Codable, Sendable { var isOn = false }

    static let stateVersion = 3

    let initialState = State()

    func reduce(state: inout State, mutation: Action) { state.isOn.toggle() }
}

private struct SecretFile {
    let path = NSTemporaryDirectory() + "secret-\(UUID().uuidString)"

    init(_ contents: String) throws {
        try contents.write(toFile: path, atomically: false, encoding: .utf8)
    }

    func node(isLoopback: Bool) throws -> LocalNode {
        var configuration = Configuration()
        configuration.clusterSecretPath = path
        return try LocalNode(
            configuration, boundTo: .tcp(host: "10.0.0.1", port: 9), isLoopback: isLoopback, [])
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
