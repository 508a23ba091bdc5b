import TestRandomness
import Testing

@Suite(
    "Several nodes on one journal keep one order for each session, and acknowledge once",
    .timeLimit(.minutes(60)))
struct ClusterSimulationTests {
    /// In twenty parts, which run side by side.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `whatever is paused, deposed, late or ended, clients see one history`(part: UInt64) throws
    {
        for seed in Seeds.range(2_000) where seed % 20 == part {
            let violations = try ClusterSimulation.run(seed: seed)
            #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(3))")
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `the same of many sessions, which are claimed and read within bounds`(ten: UInt64) throws {
        var met = ClusterSimulation.Tally()
        for seed in ten * 10..<ten * 10 + 10 {
            let violations = try ClusterSimulation.run(seed: seed, crowd: 40, &met)
            #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(3))")
        }
        #expect(met.claimsAtOnce == 16)
        #expect(met.closed > 20)
        #expect(met.spared > 100)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `each timer fires once, not early, whichever node owns its session`(part: UInt64) throws {
        var met = ClusterSimulation.Tally()
        for seed in Seeds.range(200) where seed % 4 == part {
            let violations = try ClusterSimulation.run(seed: seed, timers: true, &met)
            #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(3))")
        }
        #expect(met.timersFired > 50)
        #expect(met.livesOfSeveralNodes > 5)
    }

    @Test func `the chain alone keeps the order, without a look at the owner`() throws {
        for seed in 0..<100 as Range<UInt64> {
            let violations = try ClusterSimulation.run(seed: seed, hasFence: false)
            #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(3))")
        }
    }

    @Test func `nodes that send an action of a part again, which may be applied, are found`() throws
    {
        var (isFound, met) = (false, ClusterSimulation.Tally())
        for seed in 0..<400 as Range<UInt64> where !isFound {
            let violations = try ClusterSimulation.run(seed: seed, sendsPartsTwice: true, &met)
            isFound = !violations.isEmpty
        }
        #expect(isFound)
    }

    @Test(arguments: ScriptedFault.allCases)
    func `a database that breaks the law is found`(fault: ScriptedFault) throws {
        var isFound = false
        for seed in 0..<400 as Range<UInt64> where !isFound {
            isFound = try !ClusterSimulation.run(seed: seed, fault).isEmpty
        }
        #expect(isFound)
    }

    @Test func `the simulation meets what it is for`() throws {
        var met = ClusterSimulation.Tally()
        for seed in 0..<200 as Range<UInt64> { try ClusterSimulation.run(seed: seed, &met) }
        #expect(met.acknowledged > 1_000)
        #expect(met.claims > 200)
        #expect(met.fenced > 20)
        #expect(met.deposed > 20)
        #expect(met.unknown > 10)
        #expect(met.confirmed > 200)
        #expect(met.aged > 10)
        #expect(met.elsewhere > 50)
        #expect(met.heard > 2_000)
        #expect(met.followed > 200)
        #expect(met.handedOver > 10)
        #expect(met.woken > 10)
        #expect(met.sentHome > 10)
        #expect(met.hinted > 200)
        #expect(met.received > 10)
        #expect(met.spread > 20)
        #expect(met.states > 50)
        #expect(met.published > 100)
        #expect(met.topicGaps > 0)
        #expect(met.partsApplied > 200)
        #expect(met.partsUnknown > 20)
        #expect(met.partsRefused > 20)
        #expect(met.presenceElsewhere > 200)
        #expect(met.calls.isSuperset(of: [.load, .records, .snapshot, .stateVersion]))
    }
}
