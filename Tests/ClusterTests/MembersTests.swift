import Cluster
import Testing

@Suite("The members of a cluster, as one node sees them", .timeLimit(.minutes(60)))
struct MembersTests {
    @Test func `a reactor is hosted elsewhere if another member hosts it, also one that leaves`() {
        let member = { (number: Int64, reactor: String, isLeaving: Bool) in
            Member(
                node: Node(number: number), address: "\(number):1", loops: 1,
                reactors: [reactor: 1], isLeaving: isLeaving)
        }
        let members = Members(
            own: member(1, "here", false),
            others: [member(2, "there", false), member(3, "leaving", true)])
        #expect(!members.isHostedElsewhere("here"))
        #expect(members.isHostedElsewhere("there"))
        #expect(members.isHostedElsewhere("leaving"))
        #expect(!members.isHostedElsewhere("nowhere"))
    }
}
