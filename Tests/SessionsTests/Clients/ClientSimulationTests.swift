import TestRandomness
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Simulated clients — random events in random order", .timeLimit(.minutes(60)))
struct ClientSimulationTests {
    /// The number of lines that a failed life prints.
    private static var lineCount: Int {
        unsafe getenv("REACTOR_SIMULATION_LINES").flatMap { unsafe Int(String(cString: $0)) } ?? 60
    }

    /// One test and not one for each seed: there may be a hundred thousand.
    @Test func `clients and servers that die, and a bad network, break no promise`() async throws {
        var patches = (all: 0, impossible: 0)
        let seeds = Seeds.range(300)
        for seed in seeds {
            let counts = try check(seed)
            patches.all += counts.all
            patches.impossible += counts.impossible
            // The other tests run on the same few threads.
            await Task.yield()
        }
        #expect(seeds.count < 20 || (patches.all > 0 && patches.impossible > 0), "\(patches)")
    }

    /// They overtake the states that the process under test has in memory, so its
    /// commits are refused.
    @Test func `other processes that write to the journal break no promise`() async throws {
        for seed in Seeds.range(300) {
            try check(seed, hasOthers: true)
            await Task.yield()
        }
    }

    /// Seeds that have failed.
    @Test(
        arguments: [
            1, 5, 9, 13, 34, 38, 61, 65, 90, 98, 134, 147, 195, 375, 480, 1570, 2474, 3885, 15749,
            25532, 119982, 1069897, 1138888, 5042156, 5064692, 5083917,
        ] as [UInt64])
    func `a life that broke a promise once does not do so again`(seed: UInt64) throws {
        // The lives are the same as before patches existed.
        try check(seed, patchForm: .wholeStates)
    }

    @discardableResult
    private func check(
        _ seed: UInt64, hasOthers: Bool = false, patchForm: PatchForm? = nil
    ) throws -> (all: Int, impossible: Int) {
        let life = try ClientLife(seed: seed, hasOthers: hasOthers, patchForm: patchForm)
        life.live(steps: 300)
        guard let fault = life.faults.first else { return life.patchCounts }
        let repeated = try ClientLife(
            seed: seed, hasOthers: hasOthers, patchForm: patchForm, isRecorded: true)
        repeated.live(steps: 300)
        let story = (repeated.story ?? []).suffix(Self.lineCount).joined(separator: "\n")
        Issue.record("\(fault)\n\(story)")
        return life.patchCounts
    }
}
