import JSONCoding
import Testing

@testable import ClientMachine

@Suite("C8: states as patches of the previous ones", .timeLimit(.minutes(60)))
struct PatchTests {
    private let states = Following(demand: .init(states: true))
    private let withoutPatches = "/v1/sessions/room/events?only=states"

    /// A client whose state at number 4 is known.
    private func opened(_ state: String = "[4]") throws -> (Client, AttemptID) {
        var client = try Client()
        let stream = try client.open(room, following: states)
        _ = client.event(stream, "snapshot", "aaaaaaaa.4", state)
        return (client, stream)
    }

    private func add(_ value: Int) -> String { #"[{"op":"add","path":"/-","value":\#(value)}]"# }

    /// Cuts a stream, and has the next one opened.
    private func cut(
        _ client: inout Client, _ stream: AttemptID
    ) throws -> (id: AttemptID, request: ClientRequest) {
        _ = client.receive(.streamEnded(stream, failure: "it was cut"))
        let next = try #require(client.wait(.seconds(30)).streams.first)
        _ = client.head(next.id)
        return next
    }

    @Test(arguments: [
        (Demand(states: true), true), (Demand(pulses: .all), false),
        (Demand(activities: true), false),
    ])
    func `patches are asked for together with states`(demand: Demand, isAsked: Bool) throws {
        var client = try Client()
        _ = client.receive(.follow(room, Following(demand: demand)))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(stream.request.target.hasSuffix("&form=patch") == isAsked)
    }

    @Test func `a patch gives the state with the text that the server has`() throws {
        var (client, stream) = try opened(#"{"a":1.0,"b":{"c":"é"},"d":10000000000000000000}"#)
        let patch = #"[{"op":"replace","path":"/a","value":1.50},{"op":"remove","path":"/b/c"}]"#
        let outputs = client.event(stream, "patch", "aaaaaaaa.5", patch, cause: "k")
        #expect(outputs.news == [#"state@5={"a":1.50,"b":{},"d":10000000000000000000}"#])
        #expect(outputs.shown == [ShownChange(advancesBase: true)])
        guard case .state(let event, isConfirmed: true)? = outputs.deliveries.first else {
            return #expect(outputs.deliveries.isEmpty, "not a state")
        }
        #expect(event.cause == "k")
        let whole = client.event(stream, "state", "aaaaaaaa.6", "[6]")
        #expect(whole.news == ["state@6=[6]"])
        #expect(client.event(stream, "patch", "aaaaaaaa.7", add(7)).news == ["state@7=[6,7]"])
        #expect(client.event(stream, "patch", "aaaaaaaa.8", "[]").news == ["state@8=[6,7]"])
    }

    @Test func `a delivery has the text of each state for the program`() throws {
        var (client, stream) = try opened()
        let delivery = try #require(
            client.event(stream, "patch", "aaaaaaaa.5", add(5)).deliveries.first)
        #expect(delivery != delivery.withTexts)
        let event = StreamEvent(name: "state", position: at(5), data: Array("[4,5]".utf8))
        #expect(delivery.withTexts == .state(event, isConfirmed: true))
        #expect(Delivery.event(event).withTexts == .event(event))
    }

    @Test func `a stream resumes with patches, even in the middle of a record`() throws {
        var (client, stream) = try opened()
        _ = client.event(stream, "x", "aaaaaaaa.5.1", "0")
        let next = try cut(&client, stream)
        #expect(next.request.target == withoutPatches + "&form=patch&after=aaaaaaaa.5.1")
        #expect(client.event(next.id, "patch", "aaaaaaaa.5", add(5)).news == ["state@5=[4,5]"])
    }

    @Test(arguments: [
        Following(demand: .init(states: true), start: .now),
        Following(demand: .init(states: true), start: .start),
        Following(demand: .init(states: true), after: at(3)),
    ])
    func `no patches are requested without a known previous state`(_ following: Following) throws {
        var client = try Client()
        _ = client.receive(.follow(room, following))
        var stream = try #require(client.wait(.milliseconds(50)).streams.first)
        #expect(!stream.request.target.contains("form=patch"))
        _ = client.head(stream.id)
        _ = client.bytes(stream.id, "id: aaaaaaaa.4\n\n")
        stream = try cut(&client, stream.id)
        #expect(stream.request.target == withoutPatches + "&after=aaaaaaaa.4")
        _ = client.event(stream.id, "state", "aaaaaaaa.5", "[5]")
        stream = try cut(&client, stream.id)
        #expect(stream.request.target == withoutPatches + "&form=patch&after=aaaaaaaa.5")
        #expect(client.event(stream.id, "patch", "aaaaaaaa.6", add(6)).news == ["state@6=[5,6]"])
    }

    @Test func `on a stream of several sessions, all of their states must be known`() throws {
        var client = try Client()
        var stream = try client.open(room, other, following: states)
        _ = client.event(stream, "room/snapshot", "room/aaaaaaaa.4", "[4]")
        _ = client.event(stream, "other/snapshot", "other/bbbbbbbb.7", "[7]")
        let news = client.event(stream, "other/patch", "other/bbbbbbbb.8", add(8)).news
        #expect(news == ["state@8=[7,8]"])
        #expect(client.event(stream, "room/patch", "room/aaaaaaaa.5", "[0]").news.isEmpty)
        let next = try #require(client.wait(.seconds(30)).streams.first)
        let target = "/v1/events?session=room&session=other&ids=own&only=states"
        #expect(next.request.target == target + "&after=aaaaaaaa.4,bbbbbbbb.8")
        stream = next.id
        _ = client.head(stream)
        #expect(
            client.event(stream, "other/patch", "other/bbbbbbbb.9", "0").news == ["patch@9=0"],
            "an event of this name")
        _ = client.event(stream, "room/state", "room/aaaaaaaa.5", "[5]")
        let last = try cut(&client, stream)
        #expect(last.request.target == target + "&form=patch&after=aaaaaaaa.5,bbbbbbbb.9")
    }

    @Test(arguments: [
        #"[{"op":"remove","path":"/3"}]"#, "{}", "[", #"[{"op":"replace","path":"/0"}]"#,
        #"[{"op":"add","path":"/-","value":5},{"op":"remove","path":"/c"}]"#,
    ])
    func `after an invalid patch, the same version comes as a state`(_ patch: String) throws {
        var (client, stream) = try opened()
        let outputs = client.bytes(
            stream, block("patch", "aaaaaaaa.5", patch) + block("patch", "aaaaaaaa.6", "[]"))
        #expect(outputs.news.isEmpty && outputs.shown.isEmpty)
        #expect(outputs.closed == [stream])
        guard case .waiting(_, let why)? = outputs.statuses.last else {
            return #expect(outputs.statuses.isEmpty, "not waiting")
        }
        #expect("\(why)".contains("a patch does not apply"))
        let next = try #require(client.wait(.seconds(30)).streams.first)
        #expect(next.request.target == withoutPatches + "&after=aaaaaaaa.4")
        _ = client.head(next.id)
        #expect(client.event(next.id, "state", "aaaaaaaa.5", "[5]").news == ["state@5=[5]"])
        #expect(try cut(&client, next.id).request.target.contains("&form=patch&after=aaaaaaaa.5"))
    }

    @Test(arguments: ["unknown_parameter", "bad_form"])
    func `the client stops asking a server without patches for them`(_ code: String) throws {
        var client = try Client()
        _ = client.receive(.follow(room, states))
        let first = try #require(client.wait(.milliseconds(50)).streams.first)
        let second = try #require(
            client.refuse(first.id, 400, code).streams.first, "not at once")
        #expect(second.request.target == withoutPatches)
        _ = client.head(second.id)
        _ = client.event(second.id, "snapshot", "aaaaaaaa.4", "[4]")
        #expect(client.event(second.id, "patch", "aaaaaaaa.5.1", "0").news == ["patch@5.1=0"])
        _ = client.event(second.id, "state", "aaaaaaaa.5", "[5]")
        #expect(try cut(&client, second.id).request.target == withoutPatches + "&after=aaaaaaaa.5")
    }

    @Test func `the same refusal does not count if the stream did not ask for patches`()
        throws
    {
        var client = try Client()
        _ = client.receive(
            .follow(room, Following(demand: .init(states: true), start: .now)))
        let stream = try #require(client.wait(.milliseconds(50)).streams.first)
        let outputs = client.refuse(stream.id, 400, "unknown_parameter")
        #expect(outputs.streams.isEmpty)
        guard case .waiting? = outputs.statuses.last else {
            return #expect(outputs.statuses.isEmpty, "not waiting")
        }
    }

    @Test func `patches apply to the state of the stream, not to another one`() throws {
        var (client, stream) = try opened()
        let post = client.send("1").requests.first?.id
        _ = try client.answer(post, 200, receipt(6))
        let read = client.wait(.seconds(1)).requests.first?.id
        let body = #"{"position":"aaaaaaaa.6","state":[4,5,6]}"#
        #expect(try client.answer(read, 200, body).news == ["snapshot@6=[4,5,6]"])
        let covered = client.event(stream, "patch", "aaaaaaaa.5", add(5))
        #expect(covered.news == ["state@5=[4,5]"])
        #expect(covered.shown.isEmpty)
        _ = client.event(stream, "patch", "aaaaaaaa.6", add(6))
        #expect(client.event(stream, "patch", "aaaaaaaa.7", add(7)).news == ["state@7=[4,5,6,7]"])
    }

    @Test func `after a reset a patch applies to its snapshot, and to nothing before`() throws {
        var (client, stream) = try opened()
        _ = client.bytes(stream, "event: reset\ndata: {\"reason\":\"trimmed\"}\n\n")
        #expect(client.event(stream, "patch", "aaaaaaaa.5", add(5)).news.isEmpty)
        _ = client.event(stream, "snapshot", "bbbbbbbb.1", "[1]")
        #expect(client.event(stream, "patch", "bbbbbbbb.2", add(2)).news == ["state@2=[1,2]"])
    }

    @Test func `until the snapshot after a reset, the client asks for no patches`() throws {
        var client = try Client()
        let following = Following(demand: .init(states: true), start: .now)
        let stream = try client.open(room, following: following)
        _ = client.event(stream, "state", "aaaaaaaa.5", "[5]")
        _ = client.bytes(stream, "event: reset\ndata: {\"reason\":\"trimmed\"}\n\n")
        let next = try cut(&client, stream)
        _ = client.bytes(next.id, "id: aaaaaaaa.9\n\n")
        #expect(try cut(&client, next.id).request.target == withoutPatches + "&after=aaaaaaaa.9")
    }

    @Test func `two streams of one session continue one state`() throws {
        var (client, earlier) = try opened()
        _ = client.receive(.follow(other, states))
        let later = try #require(client.wait(.milliseconds(50)).streams.first?.id)
        _ = client.event(earlier, "patch", "aaaaaaaa.5", add(5))
        _ = client.head(later)
        #expect(client.event(later, "room/patch", "room/aaaaaaaa.5", add(5)).news.isEmpty)
        let news = client.event(later, "room/patch", "room/aaaaaaaa.6", add(6)).news
        #expect(news == ["state@6=[4,5,6]"])
    }

    @Test(arguments: [true, false])
    func `a saved state is continued by patches if it is continued at all`(_ isContinued: Bool)
        throws
    {
        var client = try Client()
        var following = states
        following.saved = SavedState(position: at(4), state: Array("[4]".utf8))
        if isContinued { following.after = at(4) }
        let stream = try client.open(room, following: following)
        if isContinued {
            #expect(client.event(stream, "patch", "aaaaaaaa.5", add(5)).news == ["state@5=[4,5]"])
        } else {
            #expect(client.event(stream, "patch", "aaaaaaaa.5", add(5)).news.isEmpty)
            _ = client.event(stream, "snapshot", "aaaaaaaa.6", "[6]")
            #expect(client.event(stream, "patch", "aaaaaaaa.7", add(7)).news == ["state@7=[6,7]"])
        }
    }

    @Test func `lost events, and those of a stream without states, end the known state`() throws {
        var reader = SessionReader()
        let demand = Demand(states: true)
        func state(_ number: UInt64) -> StreamBlock {
            StreamBlock(name: "state", data: [0x31], position: at(number))
        }
        _ = reader.receive(state(4), demand: demand)
        #expect(reader.patchBase == .text([0x31]))
        #expect(reader.skips(to: at(9)) && reader.patchBase == nil)
        _ = reader.receive(state(10), demand: demand)
        #expect(reader.patchBase != nil)
        let event = StreamBlock(name: "x", data: [0x30], position: at(11))
        _ = reader.receive(event, demand: Demand(pulses: .all))
        #expect(reader.patchBase == nil)
    }

    @Test func `the result of a patch has no text until somebody asks for it`() throws {
        let content = try EventContent.text(Array("[1]".utf8)).patched(by: Array(add(2).utf8))
        #expect(content == .value(.array([1, 2])))
        #expect(String(decoding: content.text, as: UTF8.self) == "[1,2]")
    }
}
