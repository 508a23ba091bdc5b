import Testing

@testable import ReactorHosting

@Suite("Requests of the program — their number", .timeLimit(.minutes(60)))
struct ProgramCallsTests {
    // The actor runs one task after the other, each until it waits.
    @MainActor @Test func `further ones wait, in order, until others leave or the server ends`()
        async
    {
        let calls = ProgramCalls()
        for _ in 0..<ProgramCalls.limit { #expect(await calls.enter()) }
        var entered: [Int] = []
        let waiting = (0..<4).map { number in
            Task {
                let mayEnter = await calls.enter()
                if mayEnter { entered.append(number) }
                return mayEnter
            }
        }
        let next = Task {
            #expect(entered == [])
            calls.leave()
            calls.leave()
        }
        await next.value
        #expect(await waiting[0].value)
        #expect(await waiting[1].value)
        #expect(entered == [0, 1])
        calls.close()
        for one in waiting[2...] { #expect(await !one.value) }
        #expect(await !calls.enter())
        #expect(!calls.isIdle)
        for _ in 0..<ProgramCalls.limit { calls.leave() }
        #expect(calls.isIdle)
    }
}
