import Cluster
import Clustering
import Testing

@Suite("Routes are remembered, the oldest forgotten first", .timeLimit(.minutes(60)))
struct RoutesTests {
    private let one = Node(number: 1)
    private let two = Node(number: 2)

    @Test func `the last route of a session counts`() {
        var routes = Routes<String>(limit: 3)
        #expect(routes["a"] == nil)
        routes.remember(one, of: "a")
        routes.remember(two, of: "a")
        #expect(routes["a"] == two)
        #expect(routes.count == 1)
        routes.forget("a")
        #expect(routes["a"] == nil)
    }

    @Test func `the oldest route is forgotten for the next`() {
        var routes = Routes<String>(limit: 2)
        routes.remember(one, of: "a")
        routes.remember(one, of: "b")
        // It is the newest again.
        routes.remember(two, of: "a")
        routes.remember(one, of: "c")
        #expect(routes["a"] == two)
        #expect(routes["b"] == nil)
        #expect(routes["c"] == one)
    }

    @Test func `a route that is made again is not the old one`() {
        var routes = Routes<String>(limit: 2)
        routes.remember(one, of: "a")
        routes.forget("a")
        routes.remember(one, of: "b")
        routes.remember(two, of: "a")
        routes.remember(one, of: "c")
        #expect(routes["a"] == two)
        #expect(routes["b"] == nil)
    }

    @Test func `the number of routes is bounded, however often they change`() {
        var routes = Routes<Int>(limit: 10)
        for round in 0..<1_000 {
            routes.remember(one, of: round % 15)
            if round % 7 == 0 { routes.forget(round % 15) }
            #expect(routes.count <= 10)
        }
        routes.remember(two, of: 99)
        #expect(routes[99] == two)
    }
}
