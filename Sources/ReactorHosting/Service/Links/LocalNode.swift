internal import Cluster
internal import Sessions
internal import Sockets

/// This process as a node of a cluster, as `--link` describes it.
struct LocalNode: Sendable {
    let member: Member
    /// The node proves itself with the first, and accepts the proof of a peer with any of them.
    /// None without a file. Then only programs of this machine reach the links, and the links give
    /// them no extra rights, because the node asks no client for a token.
    let secrets: [[UInt8]]

    private static let secretFileLimitBytes = 65_536
    /// An old and a new secret are enough. Each proof and each ticket is tried with all of them.
    private static let secretLimit = 4

    /// - Parameters:
    ///   - address: The address that is bound for `--link`.
    ///   - isLoopback: Whether only this machine can reach it.
    /// - Throws: ``ConfigurationFailure`` with every reason why there can be no links.
    init(
        _ configuration: Configuration, boundTo address: ListenAddress, isLoopback: Bool,
        _ registrations: [Registration]
    ) throws(ConfigurationFailure) {
        var sentences = Self.refusals(configuration, address, isLoopback: isLoopback)
        let reached = configuration.linkAddress?.listenAddress ?? address
        var secrets: [[UInt8]] = []
        do {
            if let path = configuration.clusterSecretPath {
                let lines = try Self.secrets(path)
                lines.reportCarriageReturns(in: path, configuration)
                secrets = lines.secrets
            }
        } catch {
            sentences += error.sentences
        }
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
        self.secrets = secrets
        let reactors = registrations + [.topic]
        var randomness = SystemRandomNumberGenerator()
        member = Member(
            node: Node(using: &randomness), address: "\(reached)", loops: configuration.loops,
            reactors: Dictionary(
                uniqueKeysWithValues: reactors.map { ($0.name, $0.stateVersion) }))
    }

    /// The sentences for an address at which there can be no links; empty if there can.
    private static func refusals(
        _ configuration: Configuration, _ address: ListenAddress, isLoopback: Bool
    ) -> [String] {
        var sentences: [String] = []
        if configuration.clusterSecretPath == nil,
            let reason = needOfSecret(configuration, address, isLoopback: isLoopback)
        {
            sentences.append(secretRefusal(reason))
        }
        let reached = configuration.linkAddress?.listenAddress ?? address
        if let refusal = refusal(reached) { sentences.append(refusal) }
        return sentences
    }

    /// Every reason why there can be no links, before the address is bound; empty if there is none.
    static func faults(
        of configuration: Configuration, at address: ListenAddress, isLoopback: Bool
    ) -> [String] {
        var address = address
        // The system will choose a port.
        if case .tcp(let host, 0) = address { address = .tcp(host: host, port: 1) }
        var sentences = refusals(configuration, address, isLoopback: isLoopback)
        do {
            if let path = configuration.clusterSecretPath { _ = try secrets(path) }
        } catch {
            sentences += error.sentences
        }
        return sentences
    }

    private static func secrets(_ path: String) throws(ConfigurationFailure) -> SecretLines {
        let bytes: [UInt8]
        do {
            bytes = try RegularFile.contents(of: path, limitBytes: secretFileLimitBytes)
        } catch {
            throw ConfigurationFailure(
                sentences: error.sentences.map { "--cluster-secret-file: \($0)" })
        }
        let lines = SecretLines(bytes)
        if let short = lines.tooShort {
            throw ConfigurationFailure(
                sentences: [
                    """
                    --cluster-secret-file: \(path): the secret \(short.number) has \(short.bytes) bytes; \
                    a secret has at least \(SecretLines.minimumBytes)
                    """
                ])
        }
        guard lines.secrets.count <= secretLimit else {
            throw ConfigurationFailure(
                sentences: [
                    """
                    --cluster-secret-file: \(path) has \(lines.secrets.count) secrets; at most \
                    \(secretLimit) are allowed
                    """
                ])
        }
        return lines
    }

    /// Why peers have to prove that they are nodes; nil if they need not.
    ///
    /// A peer is believed: it may say that a request has any grants.
    private static func needOfSecret(
        _ configuration: Configuration, _ address: ListenAddress, isLoopback: Bool
    ) -> String? {
        guard isLoopback else { return "other machines can reach \(address)" }
        if let dialled = configuration.linkAddress {
            return "other nodes reach this one at \(dialled.listenAddress)"
        }
        guard configuration.authentication != .none else { return nil }
        return """
            clients need tokens (--auth \(configuration.authentication.rawValue)), but requests \
            over links do not
            """
    }

    /// The sentence for a program with its own authenticator.
    static var ownAuthenticatorRefusal: String {
        secretRefusal("clients need tokens, but requests over links do not")
    }

    private static func secretRefusal(_ reason: String) -> String {
        """
        \(reason), and nothing proves that a peer is a node: set --cluster-secret-file to a file \
        with the cluster's secret
        """
    }

    /// The sentence for an address that nobody can dial; nil for any other.
    private static func refusal(_ address: ListenAddress) -> String? {
        guard case .tcp(let host, let port) = address else { return nil }
        if port == 0 { return "--link-address is \(address): it needs a port" }
        guard ["0.0.0.0", "::"].contains(host) else { return nil }
        return """
            other nodes cannot dial \(address): set --link-address to the address at which they reach \
            this one
            """
    }
}

extension Configuration {
    /// The sentences for settings of links that do not fit the others; empty if all do.
    var linkRefusals: [String] {
        guard let link else {
            let others = [
                ("link-address", linkAddress != nil),
                ("cluster-secret-file", clusterSecretPath != nil),
            ]
            return others.filter(\.1).map { "--\($0.0) is set without --link" }
        }
        guard case .postgres = journal else {
            return [
                """
                --link is set, and the journal is \(journal): nodes of a cluster have one journal in \
                PostgreSQL, --journal postgres://ADDRESS
                """
            ]
        }
        let listeners =
            [("the clients' listener", publicAddress)]
            + (operationsAddress.map { [("--ops-listen", $0.listenAddress)] } ?? [])
        return listeners.filter { $0.1 == link.listenAddress && link.port != 0 }.map {
            "--link is \(link), the address of \($0.0): it needs its own address"
        }
    }
}
