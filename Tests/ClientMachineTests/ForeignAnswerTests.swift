import Foundation
import Testing

@testable import ClientMachine

private struct AnswerVectors: Decodable {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let step, type, body, outcome: String
        let status: Int

        var testDescription: String { "\(step) \(status) \(type) \(body.prefix(60))" }
        var isProblem: Bool { outcome == "refused" }
        var code: String { ProblemDetails(status: status, body: Array(body.utf8)).code }
        var response: ClientResponse {
            ClientResponse(
                status, fields: [.init("Content-Type", type)], body: Array(body.utf8))
        }
    }
    struct LookUp: Decodable { let method, target, accept: String }
    let lookUp: LookUp
    let cases: [Case]
}

/// The vectors of `Tests/ClientVectors`, which the JavaScript client's tests read, too.
private func answers(to step: String) throws -> [AnswerVectors.Case] {
    let cases = try vectors().cases.filter { $0.step == step }
    try #require(cases.count > 5)
    return cases
}

private func vectors() throws -> AnswerVectors {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let file = folder.appendingPathComponent("../ClientVectors/answers.json")
    return try JSONDecoder().decode(AnswerVectors.self, from: Data(contentsOf: file))
}

@Suite("C5, C6: only the service refuses and ends", .timeLimit(.minutes(60)))
struct ForeignAnswerTests {
    private let makes = Following(demand: .init(states: true), makes: "counter")
    private let joins = Following(demand: .init(states: true))

    // The vectors

    @Test func `an answer to the PUT of a session`() throws {
        for one in try answers(to: "create") {
            var client = try Client()
            let put = try #require(client.receive(.follow(room, makes)).requests.first)
            _ = client.send("1")
            let outputs = client.receive(.answered(put.id, one.response))
            switch one.outcome {
            case "made": #expect(outputs.requests.map(\.request.text) == ["1"], "\(one)")
            case "waits":
                let again = client.wait(.seconds(31)).requests.map(\.request)
                expectWaiting(outputs, client, one)
                #expect(again == [put.request], "\(one)")
            case "refused":
                #expect(outputs.ends == ["1:refused \(one.code)"], "\(one)")
                #expect(outputs.statuses.last?.isFailed == true, "\(one)")
            default:
                #expect(outputs.ends == ["1:refused \(one.code)"], "\(one)")
                #expect(outputs.statuses == [.ended(.deleted)], "\(one)")
            }
        }
    }

    @Test func `an answer to the POST of an action`() throws {
        for one in try answers(to: "post") {
            var client = try Client()
            let post = try #require(client.send("1").requests.first)
            let outputs = client.receive(.answered(post.id, one.response))
            switch one.outcome {
            case "applied": #expect(outputs.ends == ["1:applied 1"], "\(one)")
            case "waits":
                let again = client.wait(.seconds(31)).requests.map(\.request)
                #expect(outputs.ends.isEmpty, "\(one)")
                #expect(again == [post.request], "\(one)")
            case "doubt": #expect(outputs.ends == ["1:inDoubt"], "\(one)")
            default: #expect(outputs.ends == ["1:refused \(one.code)"], "\(one)")
            }
            if one.outcome == "ended" { #expect(outputs.news == ["ended deleted"], "\(one)") }
        }
    }

    @Test func `an answer to the second POST of an action, whose first has none`() throws {
        for one in try answers(to: "repeated") {
            var client = try Client()
            let post = try client.repeated()
            let outputs = client.receive(.answered(post.id, one.response))
            switch one.outcome {
            case "asks":
                let question = try #require(outputs.requests.first?.request)
                #expect(outputs.ends.isEmpty && outputs.requests.count == 1, "\(one)")
                #expect(question.text == "[]" && question.key == post.request.key, "\(one)")
                #expect(question.target == post.request.target, "\(one)")
            default: expect(outputs, &client, one, again: post.request)
            }
        }
    }

    @Test func `an answer to the question that follows 413`() throws {
        for one in try answers(to: "question") {
            var client = try Client()
            let post = try client.repeated()
            let asked = try client.problem(post.id, 413, "body_too_large")
            let question = try #require(asked.requests.first)
            let outputs = client.receive(.answered(question.id, one.response))
            if one.outcome == "refused" {
                #expect(outputs.ends == ["1:refused body_too_large"], "\(one)")
            } else {
                expect(outputs, &client, one, again: question.request)
            }
        }
    }

    private func expect(
        _ outputs: [Output], _ client: inout Client, _ one: AnswerVectors.Case,
        again request: ClientRequest
    ) {
        switch one.outcome {
        case "applied": #expect(outputs.ends == ["1:applied 1"], "\(one)")
        case "refused": #expect(outputs.ends == ["1:refused \(one.code)"], "\(one)")
        case "doubt": #expect(outputs.ends == ["1:inDoubt"], "\(one)")
        default:
            #expect(outputs.ends.isEmpty && outputs.requests.isEmpty, "\(one)")
            #expect(client.wait(.seconds(31)).requests.map(\.request) == [request], "\(one)")
        }
    }

    @Test func `an answer in place of a stream`() throws {
        let found = try vectors().lookUp
        let lookUp = ClientRequest(
            found.method, found.target, fields: [.init("Accept", found.accept)])
        for one in try answers(to: "stream") {
            var client = try Client()
            _ = client.receive(.follow(room, joins))
            let stream = try #require(client.wait(.milliseconds(50)).streams.first)
            let outputs = client.answer(stream.id, in: one.response)
            switch one.outcome {
            case "failed": #expect(outputs.statuses.last?.isFailed == true, "\(one)")
            case "ended": #expect(outputs.statuses == [.ended(.unknown)], "\(one)")
            default:
                expectWaiting(outputs, client, one)
                let asked = outputs.requests.map(\.request)
                #expect(asked == (one.outcome == "lookup" ? [lookUp] : []), "\(one)")
                let again = client.wait(.seconds(31)).streams.map(\.request)
                #expect(again == [stream.request], "\(one)")
            }
        }
    }

    @Test func `an answer to the look-up after a 204`() throws {
        for one in try answers(to: "lookup") {
            var client = try Client()
            _ = client.receive(.follow(room, joins))
            let stream = try #require(client.wait(.milliseconds(50)).streams.first)
            let asked = client.answer(stream.id, in: ClientResponse(204))
            let lookUp = try #require(asked.requests.first)
            let outputs = client.receive(.answered(lookUp.id, one.response))
            if one.outcome == "ended" {
                let reason: EndReason = one.status == 410 ? .deleted : .unknown
                #expect(outputs.statuses == [.ended(reason)], "\(one)")
            } else {
                #expect(outputs.news.isEmpty, "\(one)")
                // At once, if the answer shows that the server works.
                let again = outputs.streams + client.wait(.seconds(31)).streams
                #expect(again.map(\.request) == [stream.request], "\(one)")
            }
        }
    }

    @Test func `an answer to the DELETE of a session`() throws {
        for (count, step) in ["delete", "deleteAgain", "deleteThird"].enumerated() {
            for one in try answers(to: step) {
                var deletion = Deletion(of: room)
                #expect(deletion.request == ClientRequest("DELETE", "/v1/sessions/room"))
                for _ in 0..<count {
                    #expect(deletion.receive(ClientResponse(204)) == .again)
                }
                let found =
                    switch deletion.receive(one.response) {
                    case .again: "again"
                    case .gone: "gone"
                    case .refused(let problem): "refused \(problem.code)"
                    case .unknown(let reason): reason.isEmpty ? "" : "unknown"
                    }
                let expected = one.isProblem ? "refused \(one.code)" : one.outcome
                #expect(found == expected, "\(one)")
            }
        }
    }

    private func expectWaiting(
        _ outputs: [Output], _ client: Client, _ one: AnswerVectors.Case
    ) {
        #expect(outputs.ends.isEmpty && outputs.news.isEmpty, "\(one)")
        #expect(outputs.statuses.last?.isWaiting == true, "\(one)")
    }

    // The time after such answers

    @Test func `a queue outlives an hour of pages, and the status says why`() throws {
        var client = try Client()
        let stream = try client.open(room)
        _ = client.event(stream, "snapshot", "aaaaaaaa.0", "0")
        var post = client.send("1").requests
        for number in 2...500 { _ = client.send("\(number)") }
        let first = post.first?.request
        let end = client.now.uptime + .seconds(3_600)
        while client.now.uptime < end {
            if let id = post.first?.id {
                let page = ClientResponse(404, fields: [.init("Content-Type", "text/html")])
                let outputs = client.receive(.answered(id, page))
                guard case .waiting(_, let why)? = outputs.statuses.last else {
                    Issue.record("\(outputs.statuses)")
                    return
                }
                #expect(why.contains("404"))
                #expect(outputs.ends.isEmpty)
            }
            _ = client.bytes(stream, ":\n")
            post = client.wait(.seconds(15)).requests
        }
        if post.isEmpty { post = client.wait(.seconds(16)).requests }
        #expect(post.map(\.request) == first.map { [$0] })
        #expect(client.machine.status(room).pending == 500)
        let outputs = try client.answer(post.first?.id, 200, receipt(1))
        #expect(outputs.statuses.last == .live)
        #expect(outputs.requests.count == 1)
    }

    @Test func `what the service refuses to serve is tried again slowly, and by wake`() throws {
        var client = try Client()
        _ = client.receive(.follow(room, joins))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        #expect(client.refuse(stream, 403, "forbidden").statuses.last?.isFailed == true)
        #expect(client.wait(.seconds(29)).streams.isEmpty)
        #expect(client.wait(.seconds(31)).streams.isEmpty)
        let second = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.refuse(second, 403, "forbidden")
        _ = client.receive(.wake)
        let third = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        #expect(client.head(third).statuses == [.live])

        let put = client.receive(.follow(other, makes)).requests.first
        _ = try client.problem(put?.id, 422, "unknown_reactor")
        let again = client.wait(.seconds(60)).requests
        #expect(again.map(\.request) == put.map { [$0.request] })
        _ = try client.answer(again.first?.id, 201)
        #expect(client.machine.status(other).link.isFailed == false)
    }

    @Test func `a 401 settles nothing, and keeps the order`() throws {
        var client = try Client(asksForCredentials: true)
        let asked = try #require(client.send("1").asked.first)
        _ = client.send("2")
        var outputs = client.receive(.credential(asked.id, Credential(authorization: "a")))
        let post = try #require(outputs.requests.first)
        outputs = try client.problem(post.id, 401, "token_invalid")
        #expect(outputs.asked.map(\.refused) == ["a"])
        outputs = client.receive(
            .credential(try #require(outputs.asked.first?.id), Credential(authorization: "b")))
        outputs = try client.problem(outputs.requests.first?.id, 401, "token_invalid")
        #expect(outputs.ends.isEmpty && outputs.asked.isEmpty)
        #expect(outputs.statuses.last?.isWaiting == true)
        outputs = client.wait(.seconds(1))
        #expect(outputs.asked.map(\.refused) == ["b"])
        outputs = client.receive(
            .credential(try #require(outputs.asked.first?.id), Credential(authorization: "c")))
        #expect(outputs.requests.map(\.request.text) == ["1"])
        outputs = try client.answer(outputs.requests.first?.id, 200, receipt(1))
        #expect(outputs.ends == ["1:applied 1"])
    }

    @Test func `a credential that was refused is sent again after a wait, and not before`()
        throws
    {
        var client = try Client(asksForCredentials: true)
        let asked = try #require(client.send("1").asked.first)
        let credential = Credential(authorization: "a")
        var outputs = client.receive(.credential(asked.id, credential))
        let page = ClientResponse(401, fields: [.init("Content-Type", "text/html")])
        outputs = client.receive(.answered(try #require(outputs.requests.first?.id), page))
        outputs = client.receive(
            .credential(try #require(outputs.asked.first?.id), credential))
        #expect(outputs.requests.isEmpty)
        outputs = client.wait(.seconds(1))
        outputs = client.receive(
            .credential(try #require(outputs.asked.first?.id), credential))
        #expect(outputs.requests.map(\.request.text) == ["1"])
    }
}

extension Client {
    /// The second attempt of an action; the first one has no answer.
    fileprivate mutating func repeated() throws -> (id: AttemptID, request: ClientRequest) {
        let post = try #require(send("1").requests.first)
        _ = receive(.requestFailed(post.id, "cut"))
        return try #require(wait(.seconds(1)).requests.first)
    }

    /// The whole response to the request of a stream.
    fileprivate mutating func answer(_ id: AttemptID, in response: ClientResponse) -> [Output] {
        let head = ClientResponse(response.status, fields: response.fields)
        var outputs = receive(.streamOpened(id, head))
        outputs += receive(.streamBytes(id, response.body))
        return outputs + receive(.streamEnded(id, failure: nil))
    }
}

extension LinkStatus {
    fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
}
