import Testing
import Wire

@testable import ReactorHosting

@Suite("Contract §3 — path and method select a route", .timeLimit(.minutes(60)))
struct RouterTests {
    private let router = Router()

    @Test func `every row of the table is found, with the segment of its path`() {
        for route in Route.table {
            let path = route.path.replacing("{id}", with: "some-id_1")
                .replacing("{topic}", with: "some-id_1")
                .replacing("{file}", with: "some-id_1")
            let match = router.match(method(route.method), Array(path.utf8), 0..<path.utf8.count)
            guard case .route(let found, let segment) = match else {
                Issue.record("\(route.method) \(route.path) is not found")
                continue
            }
            #expect(found == route)
            #expect(found.concernsSession == route.path.contains("{id}"))
            let name = segment.map { String(decoding: Array(path.utf8)[$0], as: UTF8.self) }
            #expect(name == (route.path.contains("{") ? "some-id_1" : nil))
        }
    }

    @Test func `every operation has one row`() {
        #expect(Set(Route.table.map(\.operationID)).count == Route.table.count)
        #expect(Set(Route.table.map { "\($0.method) \($0.path)" }).count == Route.table.count)
    }

    @Test func `what shows an overload is not refused for it`() {
        let unbounded = Route.table.filter { $0.method == "GET" && !$0.mayBeOverBudget }
        #expect(unbounded.map(\.operationID).sorted() == ["livez", "metrics", "readyz"])
        #expect(!Route.table.contains { $0.method != "GET" && $0.mayBeOverBudget })
    }

    @Test func `with an operations address each route is served at one of the two`() {
        let operations = Route.operations.map(\.operationID)
        #expect(
            operations.sorted() == [
                "livez", "metrics", "openapi", "publishTopic", "putStub", "readStub", "readyz",
            ])
        let clients = Route.clients.map(\.operationID)
        #expect(Set(operations).intersection(clients) == ["openapi"])
        #expect(Set(operations).union(clients) == Set(Route.table.map(\.operationID)))
        let path = Array("/v1/sessions/x/stub".utf8)
        let router = Router(routes: Route.clients)
        #expect(router.match(.get, path, 0..<path.count) == .nothing, "no 405 that gives it away")
    }

    // No client's grants restrict a part's action, so no client may send one.
    @Test func `only links have the route of parts`() {
        let path = Array("/parts/some-id_1".utf8)
        for routes in [Route.table, Route.clients, Route.operations] {
            #expect(Router(routes: routes).match(.post, path, 0..<path.count) == .nothing)
        }
        let own = Route.links.filter { !Route.table.contains($0) }
        #expect(own.map(\.operationID) == ["postPart"])
    }

    @Test func `RFC 9110 §9.3.2: HEAD is served wherever GET is`() {
        for route in Route.table where route.method == "GET" {
            let path = Array(route.path.replacing("{id}", with: "x").utf8)
            #expect(
                router.match(.head, path, 0..<path.count)
                    == router.match(.get, path, 0..<path.count))
        }
    }

    @Test func `RFC 9110 §15.5.6: another method gets the allowed ones`() {
        #expect(
            methods(.delete, "/v1/sessions/x/actions") == ["OPTIONS", "POST"])
        #expect(methods(.post, "/v1/sessions/x") == ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"])
        #expect(methods(.put, "/v1/sessions") == ["GET", "HEAD", "OPTIONS", "POST"])
        #expect(methods(.options, "/livez") == ["GET", "HEAD", "OPTIONS"])
    }

    @Test(arguments: [
        "", "//", "/v1", "/v1/", "/v1/sessions/", "/v1/sessions//actions", "/v1/session",
        "/v1/sessionsx", "/v1/sessions/x/", "/v1/sessions/x/actions/", "/v1/sessions/x/action",
        "/v1/sessions/x/actions/y", "/V1/sessions", "/livez/", "/livezz", "//livez", "livez",
    ])
    func `a path that resembles a route has none`(path: String) {
        let bytes = Array(path.utf8)
        #expect(router.match(.get, bytes, 0..<bytes.count) == .nothing)
    }

    @Test func `a path is read in place at any offset`() {
        let bytes = Array("GET /v1/sessions/abc HTTP/1.1".utf8)
        guard case .route(let route, segment: 17..<20) = router.match(.get, bytes, 4..<20) else {
            Issue.record("the path is not found")
            return
        }
        #expect(route.operationID == "readSession")
    }

    private func methods(_ method: Method, _ path: String) -> [String]? {
        let bytes = Array(path.utf8)
        guard case .methods(let methods) = router.match(method, bytes, 0..<bytes.count) else {
            return nil
        }
        return methods.sorted()
    }

    private func method(_ name: String) -> Method {
        switch name {
        case "POST": .post
        case "PUT": .put
        case "DELETE": .delete
        default: .get
        }
    }
}
