import Dispatch

@testable import Storage

// A rig's journal does nothing by itself once a second: a test has it done.
extension FileJournal {
    /// Trims all that is to be trimmed, in the steps that the journal takes by itself.
    func trimNow() async {
        await onQueue { journal in
            let maintenance = journal.writer.maintenance
            (maintenance.nextLook, maintenance.nextOver) = (0, 0)
            // The second round removes what the first one has moved out of the tail; the third
            // finds nothing.
            for _ in 1...3 {
                repeat {
                    maintenance.isLookDue = true
                    while journal.keepHouse() {}
                } while maintenance.nextLook != 0 && journal.failure == nil
            }
        }
    }

    /// Tries whether a disk that failed is well again.
    func checkDisk() async { await onQueue { $0.probeDisk() } }

    /// Waits for the checkpoint that is under way.
    func endCheckpoint() async { await onQueue { $0.writer.checkpointer.rest() } }

    /// One step of maintenance.
    func keepHouseOnce() async { await onQueue { _ = $0.keepHouse() } }

    private func onQueue(_ act: @escaping @Sendable (FileJournal) -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                act(self)
                continuation.resume()
            }
        }
    }
}
