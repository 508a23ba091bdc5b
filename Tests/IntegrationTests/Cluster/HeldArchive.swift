import Storage
import Synchronization

/// The archive of a journal. Reads of snapshots, and loads, wait while the test holds them.
final class HeldArchive: Archive {
    private struct State {
        var snapshots = 0
        var answers = 0
    }

    private let archive: any Archive
    private let state = Mutex(State())
    private let reads = Hold()
    let loads = Hold()

    init(_ archive: any Archive) { self.archive = archive }

    /// The number of snapshots that were requested.
    var snapshots: Int { state.withLock { $0.snapshots } }

    /// How many loads, and questions whether sessions are up to date, were answered.
    var answers: Int { state.withLock { $0.answers } }

    func countAnswer() { state.withLock { $0.answers += 1 } }

    func hold() { reads.begin() }

    func release() { reads.end() }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        state.withLock { $0.snapshots += 1 }
        reads.pass { [archive] in archive.snapshot(of: session, at: version, answer) }
    }

    // MARK: The other reads

    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        archive.records(
            of: session, after: start, through: last, limit: limit, limitBytes: limitBytes, answer)
    }

    func stateVersion(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Int?>
    ) {
        archive.stateVersion(of: session, at: version, answer)
    }

    func head(of session: String, _ answer: @escaping Answer<SavedHead?>) {
        archive.head(of: session, answer)
    }

    func load(_ session: String, _ answer: @escaping Answer<SavedSession?>) {
        loads.pass { [self] in
            archive.load(session) { [self] loaded in
                answer(loaded)
                countAnswer()
            }
        }
    }

    func storedAnswer(
        of session: SessionKey, key: String, _ answer: @escaping Answer<StoredAnswer?>
    ) {
        archive.storedAnswer(of: session, key: key, answer)
    }

    func page(_ range: SessionRange, _ answer: @escaping Answer<[SavedHead]>) {
        archive.page(range, answer)
    }

    func taggedPage(_ selection: TagSelection, _ answer: @escaping Answer<TaggedPage>) {
        archive.taggedPage(selection, answer)
    }

    func timers(of session: SessionKey, _ answer: @escaping Answer<[SessionTimer]>) {
        archive.timers(of: session, answer)
    }
}
