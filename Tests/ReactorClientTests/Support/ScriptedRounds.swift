import Synchronization

@testable import ReactorClient

/// A scripted transport whose rounds a test ends, on its own thread.
final class ScriptedRounds: RoundTransport {
    let scripted = ScriptedTransport()
    private let receivers = Mutex<[any RoundReceiver]>([])

    func start(
        _ request: TransportRequest, _ receiver: any TransportReceiver
    ) -> any TransportHandle {
        if let receiver = receiver as? any RoundReceiver {
            receivers.withLock { $0.append(receiver) }
        }
        return scripted.start(request, receiver)
    }

    func endRound() { for receiver in receivers.withLock(\.self) { receiver.roundEnded() } }
}
