import Testing
import TestRandomness

@testable import Cluster

@Suite("a session has one home, and keeps it", .timeLimit(.minutes(60)))
struct HomeTests {
    /// Members with the numbers 1, 2, …; the first one is the observer.
    private func members(_ addresses: [String]) -> Members {
        let all = addresses.enumerated().map { index, address in
            Member(node: Node(number: Int64(index) + 1), address: address, loops: 1)
        }
        return Members(own: all[0], others: Array(all.dropFirst()))
    }

    private func address(_ index: Int) -> String { "10.0.0.\(index):7080" }

    private func homes(_ members: Members, _ ids: [String]) -> [String?] {
        ids.map { id in members.home(of: id).flatMap { members[$0]?.address } }
    }

    private let ids = (0..<20_000).map { "s\($0)" }

    /// The weights are part of the protocol between nodes of different releases.
    @Test(
        arguments: [
            ("", "", 0xa70e_2d3d_eb9c_b389), ("s1", "10.0.0.1:7080", 0xde9d_4d4e_473a_c766),
            ("a--b", "10.0.0.1:7080", 0x503c_cdf1_c4a1_f502),
        ] as [(String, String, UInt64)])
    func `weights never change`(_ id: String, _ address: String, _ weight: UInt64) {
        #expect(Home(of: id).weight(of: address) == weight)
    }

    @Test(arguments: [
        ("", ""), ("a", "a"), ("a-b", "a-b"), ("a--b", "a"), ("a--b--c", "a"), ("a---b", "a"),
        ("--a", "--a"), ("-", "-"), ("--", "--"), ("a--", "a"), ("é--b", "é"),
    ])
    func `the home hashes what stands before two dashes`(_ id: String, _ root: String) {
        #expect(String(Home.root(of: id)) == root)
        #expect(Home(of: id).weight(of: "x") == Home(of: root).weight(of: "x"))
    }

    @Test(arguments: 2...7) func `each member has its share`(_ count: Int) {
        let members = members((0..<count).map(address))
        let counts = Dictionary(grouping: homes(members, ids)) { $0 }.mapValues(\.count)
        let share = ids.count / count
        #expect(counts.count == count)
        for (_, count) in counts { #expect((share * 9 / 10...share * 11 / 10).contains(count)) }
    }

    @Test func `a member that joins takes its share and moves nothing else`() {
        let before = homes(members((0..<4).map(address)), ids)
        let after = homes(members((0..<5).map(address)), ids)
        let moved = zip(before, after).filter { $0 != $1 }
        #expect(moved.allSatisfy { $0.1 == address(4) })
        #expect((ids.count * 18 / 100...ids.count * 22 / 100).contains(moved.count))
    }

    @Test func `all members agree, whatever their numbers are`() {
        let addresses = (0..<5).map(address)
        let one = homes(members(addresses), ids)
        #expect(homes(members(addresses.reversed()), ids) == one)
    }

    @Test func `leaving members, and those that are not heard, are nobody's home`() {
        let all = members((0..<3).map(address))
        var leaving = all
        leaving.others[0].isLeaving = true
        #expect(!homes(leaving, ids).contains(address(1)))
        var unheard = all
        unheard.isHeard = false
        #expect(!homes(unheard, ids).contains(address(0)))
        var unreachable = all
        unreachable.others[1].address = ""
        #expect(!homes(unreachable, ids).contains(""))
        // Their sessions are spread; the others stay.
        let (before, after) = (homes(all, ids), homes(leaving, ids))
        #expect(zip(before, after).allSatisfy { $0 == $1 || $0 == address(1) })
        var none = members([""])
        #expect(none.home(of: "s") == nil)
        none = members([address(0)])
        none.own.isLeaving = true
        #expect(none.home(of: "s") == nil)
    }

    @Test func `members that cannot read a session are skipped in the order of the weights`() {
        var all = members((0..<3).map(address))
        all.own.reactors = ["a": 2]
        all.others[0].reactors = ["a": 1, "b": 1]
        all.others[1].reactors = ["a": 2]
        for id in ids.prefix(1_000) {
            let home = all.home(of: id)
            let older = all.home(of: id, needing: ("a", 1))
            #expect(older == home)
            let newer = all.home(of: id, needing: ("a", 2))
            #expect(newer == (home == Node(number: 2) ? newer : home))
            #expect(newer != Node(number: 2) && newer != nil)
            #expect(all.home(of: id, needing: ("b", 1)) == Node(number: 2))
            #expect(all.home(of: id, needing: ("b", 2)) == nil)
            #expect(all.home(of: id, needing: ("c", 0)) == nil)
        }
    }
}
