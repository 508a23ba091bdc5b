import JSONCoding
import ReactorClient
import Reactors
import SampleReactors
import Synchronization

/// The commands of the runner, on one client at a time.
final class Adapter: Sendable {
    struct State {
        var client: ReactorClient?
        var sessions: [String: any FollowedSession] = [:]
        var tickets: [String: Ticket] = [:]
        var questions: [Int64: CheckedContinuation<ClientCredential?, Never>] = [:]
        var refusals: [Int64: RefusedSend] = [:]
        var lastNumber: Int64 = 0
    }

    private let state = Mutex(State())
    private let output = Output()

    func perform(_ line: String) {
        let command: Command
        do throws(JSONRefusal) {
            command = try JSON.decode(Command.self, from: Array(line.utf8))
        } catch {
            return output.report(
                "fault", ["detail": .string("no command: \(error.sentence): \(line)")])
        }
        switch command.command {
        case .open: open(command)
        case .follow: follow(command)
        case .submit: submit(command)
        case .send: send(command)
        case .discard: discard(command)
        case .credential: answer(command)
        case .dismiss: dismiss(command)
        case .wake:
            state.withLock(\.client)?.wake()
            output.reply(command.id)
        case .read, .leave, .delete: visit(command)
        case .close: close(command)
        }
    }

    // MARK: The client

    private func open(_ command: Command) {
        var configuration = ClientConfiguration()
        if let path = command.outbox {
            configuration.outbox = .file(path, account: command.account)
        }
        if command.credentials == true {
            configuration.credential = { [self] request in await ask(request) }
        }
        do throws(ClientFailure) {
            let client = try ReactorClient(command.server ?? "", configuration)
            state.withLock { $0.client = client }
            report(client)
            output.reply(command.id)
        } catch {
            output.reply(command.id, failure: JSONValue(error))
        }
    }

    private func report(_ client: ReactorClient) {
        Task {
            do {
                for try await refusal in await client.refusals { report(refusal) }
            } catch {
                output.report("fault", ["detail": "refusals: the reader is too slow"])
            }
        }
    }

    private func report(_ refusal: RefusedSend) {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.refusals[state.lastNumber] = refusal
            return state.lastNumber
        }
        output.report(
            "refusal",
            [
                "refusal": .integer(number), "session": .string(refusal.session),
                "failure": JSONValue(refusal.failure),
            ])
    }

    private func dismiss(_ command: Command) {
        let (client, refusal) = state.withLock { state in
            (state.client, command.refusal.flatMap { state.refusals.removeValue(forKey: $0) })
        }
        if let client, let refusal { client.dismiss(refusal) }
        output.reply(command.id)
    }

    private func close(_ command: Command) {
        let client = state.withLock { state in
            state.sessions = [:]
            return state.client
        }
        Task {
            await client?.close()
            output.reply(command.id)
        }
    }

    // MARK: Credentials

    private func ask(_ request: CredentialRequest) async -> ClientCredential? {
        await withCheckedContinuation { continuation in
            let number = state.withLock { state in
                state.lastNumber += 1
                state.questions[state.lastNumber] = continuation
                return state.lastNumber
            }
            output.report(
                "credential",
                ["request": .integer(number), "refused": JSONValue(request.refused)])
        }
    }

    private func answer(_ command: Command) {
        let question = state.withLock { state in
            command.request.flatMap { state.questions.removeValue(forKey: $0) }
        }
        let lifetime = command.seconds.map { Duration.seconds($0) }
        question?.resume(returning: command.token.map { .bearer($0, lifetime: lifetime) })
        output.reply(command.id)
    }

    // MARK: Sessions

    private func follow(_ command: Command) {
        guard let client = state.withLock(\.client), let id = command.session else {
            return output.reply(command.id, failure: .failure("closed", "no client, or no session"))
        }
        Task {
            do throws(ClientFailure) {
                let (session, predicts) = try await follow(id, command, client)
                await session.report(to: output, shown: command.shown == true)
                state.withLock { $0.sessions[id] = session }
                output.reply(command.id, ["predicts": .bool(predicts)])
            } catch {
                output.reply(command.id, failure: JSONValue(error))
            }
        }
    }

    private func follow(
        _ id: String, _ command: Command, _ client: ReactorClient
    ) async throws(ClientFailure) -> (any FollowedSession, predicts: Bool) {
        var start =
            switch command.from {
            case .present?, nil: SessionStart.present
            case .now?: SessionStart.now
            case .start?: SessionStart.start
            case .saved?: SessionStart.saved
            }
        if let position = command.after.flatMap({ Position($0) }) { start = .after(position) }
        if command.predict == true, let reactor = command.reactor, reactor == "chat" {
            let room = try await client.session(
                id, of: reactor, predicting: Chat(), from: start)
            return (Followed(session: room.session), true)
        }
        let session = try await client.session(
            id, of: command.reactor, actions: JSONValue.self, state: JSONValue.self, from: start)
        return (Followed(session: session), false)
    }

    private func visit(_ command: Command) {
        guard let session = session(of: command) else { return }
        Task {
            do throws(ClientFailure) {
                switch command.command {
                case .delete: try await session.delete()
                case .leave:
                    await session.leave()
                    state.withLock { $0.sessions[command.session ?? ""] = nil }
                default: return output.reply(command.id, await session.present())
                }
                output.reply(command.id)
            } catch {
                output.reply(command.id, failure: JSONValue(error))
            }
        }
    }

    /// The session of a command; if there is none, that is the reply.
    private func session(of command: Command) -> (any FollowedSession)? {
        let session = state.withLock { $0.sessions[command.session ?? ""] }
        if session == nil {
            output.reply(
                command.id, failure: .failure("not_followed", "the session is not followed"))
        }
        return session
    }

    // MARK: Sending

    private func submit(_ command: Command) {
        guard let session = session(of: command), let name = command.ticket else { return }
        do throws(SendFailure) {
            let ticket = try session.submit(command.action ?? .null)
            state.withLock { $0.tickets[name] = ticket }
            watch(ticket, name)
            output.reply(command.id)
        } catch {
            output.reply(command.id, failure: JSONValue(error))
        }
    }

    private func watch(_ ticket: Ticket, _ name: String) {
        let outcomes = ticket.outcomes
        Task {
            // The stream has room for all that a ticket reports, so it does not fail.
            var iterator = outcomes.makeAsyncIterator()
            while let progress = (try? await iterator.next()) ?? nil { report(progress, of: name) }
            state.withLock { $0.tickets[name] = nil }
        }
    }

    private func report(_ progress: SendProgress, of name: String) {
        var members: [String: JSONValue] = ["ticket": .string(name)]
        switch progress {
        case .queued: members["outcome"] = "queued"
        case .sent: members["outcome"] = "sent"
        case .applied(let receipt):
            members["outcome"] = "applied"
            members["receipt"] = JSONValue(receipt)
        case .failed(let failure):
            members["outcome"] = "failed"
            members["failure"] = JSONValue(failure)
        }
        output.report("outcome", members)
    }

    private func discard(_ command: Command) {
        let ticket = state.withLock { $0.tickets[command.ticket ?? ""] }
        output.reply(command.id, ["discarded": .bool(ticket?.discard() ?? false)])
    }

    private func send(_ command: Command) {
        guard let session = session(of: command) else { return }
        let position = command.position.flatMap { Position($0) }
        let limit = command.settled.map { Duration.milliseconds($0) }
        Task {
            do throws(SendFailure) {
                let receipt = try await session.send(
                    command.actions ?? [], if: position.map(SendCondition.position) ?? .always,
                    settled: limit)
                output.reply(command.id, ["receipt": JSONValue(receipt)])
            } catch {
                output.reply(command.id, failure: JSONValue(error))
            }
        }
    }
}
