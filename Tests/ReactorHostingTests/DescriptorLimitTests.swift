import Testing

@testable import ReactorHosting

@Suite("Clients leave descriptors to the rest of the server", .timeLimit(.minutes(60)))
struct DescriptorLimitTests {
    @Test(
        arguments: [
            ("many descriptors", 65_536, 2, 568), ("one loop", 65_536, 1, 526),
            ("a quarter at most", 1_024, 2, 256), ("many loops", 65_536, 64, 16_384),
            ("no limit", .max, 4, 736),
            ("more loops than any machine has", .max, .max, Int.max / 4),
            ("hardly any", 3, 1, 0),
        ] as [(String, Int, Int, Int)])
    func `links have a part for seven other nodes, at most a quarter`(
        _ name: String, _ descriptors: Int, _ loops: Int, _ links: Int
    ) {
        #expect(
            DescriptorLimit.links(descriptors: descriptors, loops: loops) == links, "\(name)")
    }

    @Test func `clients have what is left, and one connection at least`() {
        #expect(DescriptorLimit.connections(descriptors: 1_024, loops: 2) == 958)
        #expect(DescriptorLimit.connections(descriptors: 1_024, loops: 3, links: 256) == 701)
        #expect(
            DescriptorLimit.connections(descriptors: 1_024, loops: 3, operations: 64, links: 256)
                == 637)
        #expect(DescriptorLimit.connections(descriptors: 70, loops: 2, links: 17) == 1)
    }
}
