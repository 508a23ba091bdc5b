internal import Cluster
internal import Logging
internal import Sessions
internal import Sockets
internal import Storage

// The parts of a server that are there before its loops: its journal, its reactors, its addresses.
extension RunningServer {
    static func open(
        _ configuration: Configuration, _ engines: [JournalEngine] = [], as member: Member? = nil
    ) async throws(StartFailure) -> any Journal {
        let retention = JournalRetention(
            records: configuration.historyRecords, bytes: configuration.historyBytes,
            age: configuration.historyAge.milliseconds)
        switch configuration.journal {
        case .memory: return MemoryJournal()
        case .file(let path):
            do {
                let journal = try FileJournal(path: path, retention: retention)
                if FileMode.admitsOthers(path) {
                    configuration.logger.warning(
                        """
                        every user of this machine can read \(path), with all messages: chmod 600, \
                        also for \(path)-wal and \(path)-shm
                        """)
                }
                return journal
            } catch {
                throw StartFailure(description: error.sentence(path))
            }
        case .postgres(let address):
            guard let engine = engines.first else {
                throw StartFailure(description: JournalEngine.missing)
            }
            return try await open(configuration) { () throws(JournalFailure) in
                try engine.open(address, retention, member)
            }
        }
    }

    /// Opens a journal. While it is there and cannot commit, it is tried again until the server is
    /// told to end: a supervisor would start the server again all the same.
    private static func open(
        _ configuration: Configuration, by act: () throws(JournalFailure) -> any Journal
    ) async throws(StartFailure) -> any Journal {
        var warning = RepeatedWarning()
        while true {
            do throws(JournalFailure) {
                return try act()
            } catch {
                let sentence =
                    "\(configuration.journal) can't be used as a journal: \(error.detail)"
                guard error.isTemporary, !Task.isCancelled else {
                    throw StartFailure(description: sentence)
                }
                if warning.isDue(sentence, at: .now) {
                    configuration.logger.warning("\(sentence); trying again every second")
                }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    static func registrations(
        _ hosted: [Hosted]
    ) throws(ConfigurationFailure) -> [Registration] {
        var sentences: [String] = []
        var registrations: [Registration] = []
        for one in hosted {
            switch one.registration {
            case .success(let registration):
                if registrations.contains(where: { $0.name == registration.name }) {
                    sentences.append("two reactors are hosted as \"\(registration.name)\"")
                }
                registrations.append(registration)
            case .failure(let failure):
                sentences.append(failure.description)
            }
        }
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
        return registrations
    }

    /// Binds the address, with the kernel's time-out from the configuration.
    static func bind(
        _ address: ListenAddress, _ configuration: Configuration
    ) throws(StartFailure) -> BoundSocket {
        do {
            let socket = try BoundSocket(address)
            socket.giveUp(after: configuration.kernelTimeout)
            return socket
        } catch {
            throw StartFailure(description: "can't listen on \(address): \(error)")
        }
    }
}

extension Configuration {
    /// The time after which the kernel closes a connection whose peer acknowledges nothing.
    ///
    /// Why: the kernel still accepts some bytes for a peer that has vanished, so the server's own
    /// time-out misses that peer. Why 5 s longer: the kernel also closes the connection of a peer
    /// that does not read. The server has to close that connection first, to count it as stalled.
    var kernelTimeout: Duration { stallTimeout + .seconds(5) }
}
