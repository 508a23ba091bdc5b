internal import Sockets

// Decides whether a server can start with its settings. The start asks it, and so does
// `config check`: both refuse the same configurations with the same words. It does not check what
// depends on the machine at that moment: whether an address is free, and what is in the journal.
extension ReactorServer {
    /// - Parameter authenticates: Whether clients are asked for tokens; nil if that is not known,
    ///   because the authenticator has a fault itself.
    /// - Throws: ``ConfigurationFailure`` with every reason; ``StartFailure`` for an unknown host.
    func checkStart(authenticates: Bool?) throws {
        var sentences: [String] = []
        do {
            _ = try RunningServer.registrations(hosted)
        } catch {
            sentences += error.sentences
        }
        if authenticates == false, configuration.authentication != .none {
            sentences.append(
                "--auth is jwt, but this program has no verifier of JSON Web Tokens: it needs the "
                    + "product ReactorTokens")
        }
        sentences += try addressFaults(authenticates ?? true)
        sentences += try linkFaults(authenticates ?? false)
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
    }

    /// Whether this program has the journal of the settings, and can read a database's address.
    func checkJournal() throws(ConfigurationFailure) {
        guard case .postgres(let address) = configuration.journal else { return }
        guard let engine = journals.first else {
            throw ConfigurationFailure(sentences: [JournalEngine.missing])
        }
        guard let fault = engine.fault(address) else { return }
        throw ConfigurationFailure(
            sentences: ["\(configuration.journal) can't be used as a journal: \(fault)"])
    }

    func checkStart() throws { try checkStart(authenticates: authenticator != nil) }

    private func addressFaults(_ authenticates: Bool) throws -> [String] {
        var sentences = [configuration.operationsRefusal].compactMap(\.self)
        let addresses =
            [configuration.publicAddress]
            + [configuration.operationsAddress?.listenAddress].compactMap(\.self)
        for address in addresses {
            let isLoopback = try Self.resolve(address).isLoopback
            guard !isLoopback, !configuration.allowsPublic, !authenticates else { continue }
            sentences.append(configuration.publicRefusal(address))
        }
        return sentences
    }

    private func linkFaults(_ authenticates: Bool) throws -> [String] {
        let refusals = configuration.linkRefusals
        guard refusals.isEmpty, let link = configuration.link?.listenAddress else {
            return refusals
        }
        let (address, isLoopback) = try Self.resolve(link)
        let faults = LocalNode.faults(of: configuration, at: address, isLoopback: isLoopback)
        guard faults.isEmpty, authenticates, configuration.clusterSecretPath == nil else {
            return faults
        }
        // The program has its own authenticator, so --auth is none.
        return [LocalNode.ownAuthenticatorRefusal]
    }

    private static func resolve(
        _ address: ListenAddress
    ) throws(StartFailure) -> (address: ListenAddress, isLoopback: Bool) {
        do {
            return try BoundSocket.resolve(address)
        } catch {
            throw StartFailure(description: "can't listen on \(address): \(error)")
        }
    }
}

extension Program {
    /// The server that the settings describe.
    ///
    /// - Throws: As ``ReactorServer/checkStart()``, with the reason why there is no authenticator.
    func server(_ configuration: Configuration) async throws -> ReactorServer {
        var faults: [String] = []
        var authenticator: (any Authenticator)?
        do {
            authenticator = try await makeAuthenticator(configuration)
        } catch {
            faults = ["\(error)"]
        }
        var server = ReactorServer(
            hosting: hosted, configuration: configuration, authenticator: authenticator,
            metrics: metrics, tracer: tracer, journals: journals)
        server.hasDemo = hasDemo
        server.program = hosting
        let authenticates = faults.isEmpty ? authenticator != nil : nil
        do {
            try server.checkStart(authenticates: authenticates)
        } catch let failure as ConfigurationFailure {
            faults += failure.sentences
        }
        do {
            try server.checkJournal()
        } catch {
            faults += error.sentences
        }
        guard faults.isEmpty else { throw ConfigurationFailure(sentences: faults) }
        return server
    }
}

extension Configuration {
    /// The sentence for a server without authentication at an address that other
    /// machines can reach.
    func publicRefusal(_ address: ListenAddress) -> String {
        let place = if case .tcp(let host, _) = address { host } else { "\(address)" }
        return """
            other machines can reach \(place), and every client may do everything: listen on \
            127.0.0.1 behind a proxy that checks who asks, or start with --auth jwt, or with \
            --auth none --allow-public
            """
    }
}
