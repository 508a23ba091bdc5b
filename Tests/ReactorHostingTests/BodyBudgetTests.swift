import Sockets
import Testing

@testable import ReactorHosting

@Suite("The budget of bodies", .timeLimit(.minutes(60)))
struct BodyBudgetTests {
    private let one = PeerAddress.ipv4(0xC000_0201, port: 1)

    private func budget(_ bytes: Int, body: Int = 10) -> BodyBudget {
        var configuration = Configuration()
        (configuration.bodyBudgetBytes, configuration.bodyLimitBytes) = (bytes, body)
        return BodyBudget(configuration, exempt: AddressRange.loopback)
    }

    @Test func `a client gets a quarter, whatever its connections, until it gives back`() throws {
        let budget = budget(400)
        #expect(budget.charge(60, for: one))
        #expect(budget.charge(40, for: .ipv4(0xC000_0201, port: 2)))
        #expect(!budget.charge(1, for: one))
        let other = try #require(PeerAddress("2001:db8::1"))
        #expect(budget.charge(100, for: other))
        #expect(!budget.charge(1, for: try #require(PeerAddress("2001:db8::2"))))
        budget.giveBack(40, for: one)
        #expect(budget.charge(40, for: one))
        #expect(!budget.charge(1, for: one))
    }

    // A refused charge must not stay in the sum of all.
    @Test func `what is refused is not counted`() {
        let budget = budget(400)
        #expect(budget.charge(100, for: one))
        for _ in 0..<10 { #expect(!budget.charge(100, for: one)) }
        #expect(budget.charge(300, for: .local))
        #expect(!budget.charge(1, for: .local))
        budget.giveBack(300, for: .local)
        budget.giveBack(100, for: one)
        #expect(budget.charge(100, for: one))
    }

    @Test func `this machine may use all of it, and a client two bodies at least`() {
        let budget = budget(400, body: 80)
        #expect(budget.charge(160, for: one))
        #expect(!budget.charge(1, for: one))
        #expect(budget.charge(240, for: .ipv4(0x7F00_0001, port: 1)))
        #expect(!budget.charge(1, for: .ipv4(0x7F00_0001, port: 1)))
    }

    @Test func `new limits hold for what comes`() {
        let budget = budget(400)
        #expect(budget.charge(100, for: one))
        var configuration = Configuration()
        (configuration.bodyBudgetBytes, configuration.bodyLimitBytes) = (800, 10)
        budget.adopt(configuration)
        #expect(budget.charge(100, for: one))
        (configuration.bodyBudgetBytes, configuration.bodyLimitBytes) = (40, 10)
        budget.adopt(configuration)
        budget.giveBack(180, for: one)
        #expect(!budget.charge(1, for: one))
        budget.giveBack(10, for: one)
        #expect(budget.charge(10, for: one))
    }
}
