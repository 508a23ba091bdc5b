import Cluster
import Testing

@Suite("ADR-0067 — the newest database is believed, or none", .timeLimit(.minutes(60)))
struct DatabaseBeliefTests {
    private static func mark(
        _ era: Int64, _ timeline: Int64, _ branch: Int64, journal: Int64 = 1
    ) -> DatabaseMark {
        DatabaseMark(journal: journal, era: era, timeline: timeline, branch: branch)
    }

    private static func belief(in mark: DatabaseMark?) -> DatabaseBelief {
        var belief = DatabaseBelief()
        if let mark { belief.believe(mark) }
        return belief
    }

    // MARK: Marks

    /// From the oldest to the newest.
    private static let order = [
        mark(1, 1, 5), mark(1, 1, 9), mark(1, 2, 3), mark(2, 1, 1), mark(2, 1, 8), mark(2, 3, 2),
    ]

    @Test func `marks of one journal are in one order: era, timeline, branch`() {
        for (index, one) in Self.order.enumerated() {
            for (other, two) in Self.order.enumerated() {
                #expect(one.isBehind(two) == (index < other), "\(one) \(two)")
            }
        }
    }

    @Test func `marks of two journals are in none`() {
        let other = Self.mark(9, 9, 9, journal: 2)
        for mark in Self.order {
            #expect(!mark.isBehind(other) && !other.isBehind(mark))
        }
    }

    /// It may be the known branch. The connection shows whether it is, or adopts it as a new one.
    @Test func `a timeline without a branch is behind none of the same timeline`() {
        #expect(!Self.mark(1, 2, 0).isBehind(Self.mark(1, 2, 7)))
        #expect(!Self.mark(1, 2, 7).isBehind(Self.mark(1, 2, 0)))
        #expect(Self.mark(1, 1, 0).isBehind(Self.mark(1, 2, 7)))
        #expect(Self.mark(1, 1, 7).isBehind(Self.mark(1, 2, 0)))
    }

    // MARK: Hearing

    @Test func `a newer database that is heard of is sought until it is found`() {
        var belief = Self.belief(in: Self.mark(1, 1, 5))
        #expect(belief.sought == nil)
        let began = belief.hear(Self.mark(2, 2, 6))
        #expect(began)
        #expect(belief.sought == Self.mark(2, 2, 6))
        #expect(!belief.accepts(Self.mark(1, 1, 5)))
        #expect(!belief.accepts(Self.mark(1, 2, 6)))
        #expect(belief.accepts(Self.mark(2, 2, 6)))
        belief.believe(Self.mark(2, 2, 6))
        #expect(belief.sought == nil)
        #expect(!belief.accepts(Self.mark(1, 1, 5)), "it is remembered")
    }

    @Test func `a still newer one is sought instead, and the doubt begins once`() {
        var belief = Self.belief(in: Self.mark(1, 1, 5))
        let began = [Self.mark(1, 2, 6), Self.mark(2, 3, 7), Self.mark(1, 2, 6)].map {
            belief.hear($0)
        }
        #expect(began == [true, false, false])
        #expect(belief.sought == Self.mark(2, 3, 7))
        #expect(!belief.accepts(Self.mark(1, 2, 6)))
    }

    @Test(arguments: [
        mark(1, 1, 5), mark(1, 1, 4), mark(1, 0, 9), mark(0, 9, 9), mark(9, 9, 9, journal: 2),
    ])
    func `what is not newer, or of another journal, changes nothing`(mark: DatabaseMark) {
        let before = Self.belief(in: Self.mark(1, 1, 5))
        var belief = before
        let began = belief.hear(mark)
        #expect(!began)
        #expect(belief == before)
    }

    @Test func `a node without a database doubts nothing`() {
        var belief = DatabaseBelief()
        let began = belief.hear(Self.mark(3, 3, 3))
        #expect(!began)
        #expect(belief.sought == nil)
    }

    // MARK: Choosing

    private typealias Sight = DatabaseBelief.Sight

    private static func primary(_ era: Int64, _ timeline: Int64, _ branch: Int64 = 5) -> Sight {
        Sight(mark(era, timeline, branch), isWritable: true)
    }

    private static func standby(_ era: Int64, _ timeline: Int64, _ branch: Int64 = 5) -> Sight {
        Sight(mark(era, timeline, branch), isWritable: false)
    }

    private static let none: DatabaseMark? = nil

    @Test(
        arguments: [
            ("a primary and its standby", none, [primary(1, 1), standby(1, 1)], .take(0)),
            ("the other way round", none, [standby(1, 1), primary(1, 1)], .take(1)),
            ("one is not reached", none, [nil, primary(1, 1)], .take(1)),
            ("a former primary comes first", none, [primary(1, 1), primary(2, 2, 6)], .take(1)),
            ("nothing was lost", none, [primary(1, 1), primary(1, 2, 6)], .take(1)),
            ("nobody has connected to it", none, [primary(1, 1), primary(1, 2, 0)], .take(1)),
            (
                "two were promoted, and one is used", none, [primary(1, 2, 0), primary(1, 2, 6)],
                .take(1)
            ),
            (
                "a standby has what no primary has", none, [primary(1, 1), standby(2, 2, 6)],
                .behind(mark(2, 2, 6))
            ),
            (
                "a node has told of a newer one", mark(2, 2, 6), [primary(1, 1), nil],
                .behind(mark(2, 2, 6))
            ),
            ("only standbys are reached", none, [standby(1, 1), nil], .none),
            ("nobody is reached", mark(1, 1, 5), [nil, nil], .none),
            ("there is no journal yet", none, [Sight(nil, isWritable: true), nil], .take(0)),
            (
                "only one of them has a journal", none,
                [Sight(nil, isWritable: true), primary(1, 1)], .take(1)
            ),
            (
                "the one with the journal is away", mark(1, 1, 5),
                [Sight(nil, isWritable: true), nil],
                .behind(mark(1, 1, 5))
            ),
            (
                "they have different journals", none,
                [primary(1, 1), Sight(mark(9, 9, 9, journal: 2), isWritable: true)],
                .severalJournals
            ),
        ] as [(String, DatabaseMark?, [Sight?], DatabaseBelief.Choice)])
    fileprivate func `the host with the newest history is taken`(
        what: String, known: DatabaseMark?, hosts: [DatabaseBelief.Sight?],
        choice: DatabaseBelief.Choice
    ) {
        #expect(Self.belief(in: known).choose(among: hosts) == choice, "\(what)")
    }
}
