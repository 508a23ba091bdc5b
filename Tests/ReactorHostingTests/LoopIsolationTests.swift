import Dispatch
import Sessions
import Testing

@testable import ReactorHosting

@Suite("A check distinguishes code on a loop's queue from other code", .timeLimit(.minutes(60)))
struct LoopIsolationTests {
    @Test func `isolation is accepted on the loop's queue and ends the process elsewhere`() async {
        await #expect(processExitsWith: .failure) {
            LoopIsolation(DispatchQueue(label: "loop")).check()
        }
        await #expect(processExitsWith: .success) {
            let queue = DispatchQueue(label: "loop")
            let isolation = LoopIsolation(queue)
            await withCheckedContinuation { continuation in
                isolation.runAfterStop {
                    isolation.check()
                    continuation.resume()
                }
            }
        }
    }
}
