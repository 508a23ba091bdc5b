import Feeds
import Sessions
import Testing

@testable import ReactorHosting

@Suite("Work has a bound — a large response counts until it is sent", .timeLimit(.minutes(60)))
struct LargeResponseTests {
    private let client = WorkClient(subject: "ada")

    private func body(_ response: Response) -> [UInt8] { response.body.bytes }

    @Test func `a large body counts, and takes no more memory than it needs`() {
        let work = WorkBudget(limit: 1_000_000, clientLimit: 1_000_000)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(300_000)
        for _ in 0..<150_000 { bytes.append(UInt8(ascii: "x")) }
        var response: Response? = Response.json(200, bytes).charged(to: work, for: client)
        #expect(work.used == 150_000)
        #expect(response.map(body)?.count == 150_000)
        #expect(response.map(body)?.capacity ?? .max < 160_000)
        response = nil
        #expect(work.used == 0)
    }

    @Test func `a large body without room is a problem; a small one and a constant one are sent`() {
        let work = WorkBudget(limit: 100_000, clientLimit: 100_000)
        let other = work.charge(90_000, for: nil)
        let large = [UInt8](repeating: 0, count: 70_000)
        #expect(Response.json(200, large).charged(to: work, for: client).status == 503)
        let few = [UInt8](repeating: 0, count: WorkBudget.smallestBytes)
        #expect(Response.json(200, few).charged(to: work, for: client).status == 200)
        let constant = Response(status: 200, body: .constant(large))
        #expect(constant.charged(to: work, for: client).status == 200)
        #expect(work.used == 90_000)
        _ = consume other
    }

    @Test func `a body that counts already does not count again`() {
        let work = WorkBudget(limit: 100_000, clientLimit: 100_000)
        var response = Response.json(200, [UInt8](repeating: 0, count: 70_000))
        response.charge = work.charge(70_000, for: client)
        #expect(response.charged(to: work, for: client).status == 200)
        #expect(work.used == 70_000)
    }
}
