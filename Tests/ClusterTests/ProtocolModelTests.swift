import Testing

/// Random schedules of the protocol by which several nodes write to one database.
@Suite("the protocol between nodes and their database", .timeLimit(.minutes(60)))
struct ProtocolModelTests {
    private static let steps = 260

    /// The first seed with a fault.
    private func firstFault(
        _ rules: ModelRules, _ mix: ModelMix, in seeds: Range<UInt64>
    ) -> (seed: UInt64, fault: String)? {
        for seed in seeds {
            let schedule = ModelSchedule(seed: seed, rules, mix)
            schedule.run(steps: Self.steps)
            if let fault = schedule.fault() { return (seed, fault) }
        }
        return nil
    }

    @Test(arguments: ModelMix.all.indices)
    func `with all rules nothing is lost, doubled or read too late`(_ mix: Int) {
        let found = firstFault(.all, ModelMix.all[mix], in: 0..<1_000)
        #expect(found == nil, "\(found.map { "seed \($0.seed): \($0.fault)" } ?? "")")
    }

    /// The fence keeps effects from running twice. The history is right without it.
    @Test(arguments: ModelMix.all.indices)
    func `the history is right without the fence`(_ mix: Int) {
        let found = firstFault(
            ModelRules.all.subtracting(.fences), ModelMix.all[mix], in: 0..<300)
        #expect(found == nil, "\(found.map { "seed \($0.seed): \($0.fault)" } ?? "")")
    }

    /// The schedules find out which rule is missing. Some rules stand behind the fence, which hides
    /// most of what they prevent.
    @Test(
        arguments: [
            (.comparesPlaces, .fast, true), (.recognisesItsOwn, .calm, true),
            (.resubmits, .calm, true), (.resubmitsWithoutFence, .late, true),
            (.confirms, .fast, true), (.drawsGeneration, .lossyClaims, true),
            (.keysByStart, .calm, true), (.heedsTrimming, .fast, true),
            (.namesEra, .lossy, false), (.loadsInEraOfClaim, .lossyClaims, false),
        ] as [(ModelRules, ModelMix, Bool)])
    func `without a rule a promise is broken`(
        _ rule: ModelRules, _ mix: ModelMix, _ isFenced: Bool
    ) {
        var rules = ModelRules.all.subtracting(rule)
        if !isFenced { rules.remove(.fences) }
        #expect(firstFault(rules, mix, in: 0..<2_500) != nil)
    }

    /// Requests of each kind end in each way: the oracle has something to judge.
    @Test func `the schedules are not idle`() {
        var counts: [ModelRequest.Outcome: Int] = [:]
        for seed in 0..<200 as Range<UInt64> {
            let schedule = ModelSchedule(seed: seed, .all, .calm)
            schedule.run(steps: Self.steps)
            for request in schedule.requests {
                if let outcome = request.outcome { counts[outcome, default: 0] += 1 }
            }
        }
        for outcome in [ModelRequest.Outcome.acknowledged, .read, .refused, .unknown] {
            #expect(counts[outcome, default: 0] > 20)
        }
    }
}
