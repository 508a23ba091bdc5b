import Cluster
import Testing

@Suite("a node has a number of its own", .timeLimit(.minutes(60)))
struct NodeTests {
    @Test func `no node has the number that stands for none`() {
        var randomness = SystemRandomNumberGenerator()
        for _ in 0..<1_000 { #expect(Node(using: &randomness).number > 0) }
    }
}
