internal import ClientMachine
internal import Synchronization

extension ClientDriver {
    /// Carries out what the machine has decided: operations on this thread, news in the task.
    func carryOut() {
        operate(rounds: 16)
        if core.withLock({ $0.hasWork }) { signal() }
    }

    /// Carries out the operations that wait, and those that come meanwhile.
    ///
    /// - Parameter rounds: after these the thread leaves what has come to the task: a caller must
    ///   not be held up for as long as others send.
    func operate(rounds: Int) {
        var operations = core.withLock { $0.operations.begin() }
        guard !operations.isEmpty else { return }
        var left = rounds
        while !operations.isEmpty {
            for operation in operations { perform(operation) }
            left -= 1
            operations = core.withLock { $0.operations.next(isLast: left == 0) }
        }
        core.withLock { $0.takeWhenIdle() }?.resume()
    }

    /// Returns when no request is under way and nothing is left to carry out.
    ///
    /// Invariant: the core is closing, so it decides nothing more. Earlier decisions may still be
    /// carried out.
    func becomeIdle() async {
        repeat {
            operate(rounds: .max)
            await withCheckedContinuation { continuation in
                let isIdle = core.withLock { core in
                    if !core.isIdle { core.whenIdle = continuation }
                    return core.isIdle
                }
                if isIdle { continuation.resume() }
            }
        } while core.withLock { !$0.operations.isEmpty }
    }

    private func perform(_ operation: DriverOperations.Operation) {
        switch operation {
        case .output(let output): perform(output)
        case .saveState(let state, let session, let isLast):
            outbox.saveState(state, of: session, isLast: isLast)
        }
    }

    private func perform(_ output: Output) {
        switch output {
        case .persist(let number, let changes): outbox.write(number, changes)
        case .cancelRequest(let id), .closeStream(let id): cancel(.attempt(id))
        case .deliver, .deliverLog, .keepState: break
        // Nothing begins any more.
        case _ where core.withLock(\.isClosing): break
        case .request(let id, let request): send(request, id)
        case .openStream(let id, let request):
            start(.attempt(id), request, isStream: true, StreamReceiver(id, self))
        case .askForCredential(let id, let refused):
            credentials?.ask(id, refused: refused, clock: clock) { [weak self] in self?.post($0) }
        case .wakeMe(let time): timer.set(time)
        }
    }

    private func send(_ request: ClientRequest, _ id: AttemptID) {
        let receiver = ResponseReceiver(limit: limits.eventBytes) { [self] in
            cancel(.attempt(id))
        } finish: { [self] result in
            switch result {
            case .success(let response): arrived(.answered(id, response))
            case .failure(let failure): arrived(.requestFailed(id, failure.message))
            }
            ended(.attempt(id))
        } round: { [self] in
            roundEnded()
        }
        start(.attempt(id), request, isStream: false, receiver)
    }
}
