@testable import Feeds
import Clustering

@testable import Sessions

// Sessions that a node gives up.
extension ClusterSimulation {
    /// A process gives up the sessions that are at rest, but does not end.
    func handOver(_ process: Process) {
        guard !process.isPaused else { return }
        for _ in 0..<2 {
            process.rig.table.handOver()
            if number(0..<2) == 0 { settle(process) } else { run(process) }
        }
    }

    /// Sessions are not used for a while, so they move to their homes.
    func sendHome(from process: Process) {
        guard !process.isPaused else { return }
        process.rig.table.sendHome()
        if number(0..<2) == 0 { post(at: process) }
        advance(by: ScriptedNode.homeRest)
        for _ in 0..<2 {
            process.rig.table.sendHome()
            if number(0..<2) == 0 { settle(process) } else { run(process) }
        }
    }
}
