import Foundation
import Testing

@Suite("ADR-0086 — a document that clients change", .timeLimit(.minutes(60)))
struct DocumentTests {
    /// A session with this value.
    private func document(_ value: String, _ client: Client? = nil) async throws -> SessionHandle {
        let shared = try await sharedServer()
        let client = client ?? shared
        let id = "document-\(UUID().uuidString)"
        let made = try await client.put(
            "/v1/sessions/\(id)", #"{"reactor":"document","input":\#(value)}"#)
        #expect(made.status == 201)
        return SessionHandle(
            client: client, id: id, created: try made.json["position"]?.string ?? "")
    }

    private func value(_ session: SessionHandle) async throws -> JSONValue? {
        try await session.state()["value"]
    }

    @Test func `its value is the input, or null, and is kept as it was sent`() async throws {
        let session = try await document(#"{"b":1.0,"a":[1e2,"\u00e9"]}"#)
        let read = try await session.client.get(session.path)
        #expect(read.text.contains(#""state":{"value":{"b":1.0,"a":[1e2,"é"]}"#))
        let empty = try await session.client.session("document")
        #expect(try await value(empty) == .null)
    }

    @Test func `set, patch, append and emit`() async throws {
        let session = try await document("null")
        let events = try await session.follow("events?only=pulses")
        #expect(
            try await session.post(#"{"type":"set","value":{"text":"Hel","n":[]}}"#).version == 1)
        try await session.post(
            #"{"type":"patch","operations":[{"op":"add","path":"/n/-","value":1}]}"#)
        try await session.post(#"{"type":"append","path":"/text","text":"lo"}"#)
        try await session.post(#"{"type":"emit","name":"token","data":{"x":1}}"#)
        #expect(try await session.post(#"{"type":"emit","name":"over"}"#).version == 5)
        #expect(try await value(session) == ["text": "Hello", "n": [1]])
        let heard = try await events.next(2)
        #expect(heard.map(\.name) == ["emitted", "emitted"])
        #expect(
            heard.map(\.data) == [
                #"{"name":"token","data":{"x":1}}"#, #"{"name":"over","data":null}"#,
            ])
    }

    @Test func `test makes a patch a compare-and-set`() async throws {
        let session = try await document(#"{"n":0}"#)
        let patch = { (before: Int, after: Int) in
            #"{"type":"patch","operations":[{"op":"test","path":"/n","value":\#(before)},"#
                + #"{"op":"replace","path":"/n","value":\#(after)}]}"#
        }
        #expect(try await session.post(patch(0, 1)).version == 1)
        let refused = try await session.client.post("\(session.path)/actions", patch(0, 2))
        #expect(refused.status == 422)
        #expect(try refused.json["code"] == "action_refused")
        #expect(try refused.json["refusal"]?["code"] == "test_failed")
        #expect(
            try refused.json["detail"]?.string?
                .contains("operation 0, /n: the value is different.") == true)
        #expect(try await value(session) == ["n": 1])
        let tested = #"{"type":"patch","operations":[{"op":"test","path":"/n","value":1.0}]}"#
        #expect(try await session.post(tested).version == 1, "a test changes nothing")
    }

    @Test(arguments: [
        (
            #"{"type":"patch","operations":[{"op":"add","path":"/a/b/c","value":1}]}"#,
            "no_such_path"
        ),
        (
            #"{"type":"patch","operations":[{"op":"add","path":"/l/-","value":1},"#
                + #"{"op":"remove","path":"/x"}]}"#, "no_such_path"
        ),
        (#"{"type":"append","path":"/l","text":"x"}"#, "not_a_text"),
        (#"{"type":"append","path":"/none","text":"x"}"#, "no_such_path"),
    ])
    func `a failing operation refuses the action, and changes nothing`(
        action: String, code: String
    ) async throws {
        let session = try await document(#"{"a":{},"l":[]}"#)
        let refused = try await session.client.post("\(session.path)/actions", action)
        #expect(refused.status == 422)
        #expect(try refused.json["refusal"]?["code"]?.string == code)
        let read = try await session.read()
        #expect(read["state"]?["value"] == ["a": [:], "l": []])
        #expect(read["version"] == 0)
    }

    @Test(arguments: [
        (
            #"{"type":"patch","operations":[{"op":"grow","path":"/a"}]}"#,
            #"operation 0: there is no operation \"grow\""#
        ),
        (#"{"type":"append","path":"a","text":"x"}"#, "begins with"),
        (#"{"type":"set"}"#, "value"),
    ])
    func `an invalid action is refused with the place of its mistake`(
        action: String, detail: String
    ) async throws {
        let session = try await document("{}")
        let refused = try await session.client.post("\(session.path)/actions", action)
        #expect(refused.status == 422)
        #expect(try refused.json["code"] != "action_refused")
        #expect(refused.text.contains(detail), "\(refused.text)")
    }

    @Test func `its depth and the number of its values are bounded`() async throws {
        let deep = String(repeating: "[", count: 126) + String(repeating: "]", count: 126)
        let session = try await document("null")
        try await session.post(#"{"type":"set","value":\#(deep)}"#)
        let path = String(repeating: "/0", count: 125)
        let deeper =
            #"{"type":"patch","operations":[{"op":"add","path":"\#(path)/-","value":[[]]}]}"#
        let refused = try await session.client.post("\(session.path)/actions", deeper)
        #expect(try refused.json["refusal"]?["code"] == "too_deep")
        let many = Array(repeating: "0", count: 60_000).joined(separator: ",")
        try await session.post(#"{"type":"set","value":{"a":[\#(many)]}}"#)
        let double = #"{"type":"patch","operations":[{"op":"copy","from":"/a","path":"/b"}]}"#
        let full = try await session.client.post("\(session.path)/actions", double)
        #expect(try full.json["refusal"]?["code"] == "too_many_values")
        #expect(try full.json["detail"]?.string?.contains("100000") == true)
    }

    @Test func `the actions of a batch together make a bounded work`() async throws {
        let session = try await document("null")
        let list = Array(repeating: "0", count: 50_000).joined(separator: ",")
        try await session.post(#"{"type":"set","value":{"a":[\#(list)]}}"#)
        let operations = [
            #"{"op":"test","path":"/a/0","value":0}"#, #"{"op":"replace","path":"/a/0","value":1}"#,
        ]
        for operation in operations {
            let action = #"{"type":"patch","operations":[\#(operation)]}"#
            let batch = Array(repeating: action, count: 1_000).joined(separator: ",")
            let refused = try await session.client.post("\(session.path)/actions", "[\(batch)]")
            #expect(refused.status == 422)
            #expect(try refused.json["refusal"]?["code"] == "too_costly", "\(refused.text)")
            #expect(try await session.read()["state"]?["value"]?["a"]?[0] == 0)
            // The next request begins anew.
            #expect(try await session.client.post("\(session.path)/actions", action).status == 200)
            try await session.post(#"{"type":"set","value":{"a":[\#(list)]}}"#)
        }
    }

    @Test func `the cases that other implementations share hold over HTTP`() async throws {
        let cases = try SharedPatchCase.read("spec_tests") + SharedPatchCase.read("tests")
        #expect(cases.count > 100)
        for one in cases {
            let session = try await document(one.document)
            let answer = try await session.client.post(
                "\(session.path)/actions", #"{"type":"patch","operations":\#(one.patch)}"#)
            guard let expected = one.expected else {
                #expect(answer.status == 422, "\(one.patch)")
                continue
            }
            #expect(answer.status == 200, "\(one.patch): \(answer.text)")
            let found = try await value(session)
            #expect(found == (try JSONValue(text: expected)), "\(one.patch)")
        }
    }

    @Test func `it survives kill -9`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await document(#"{"n":[1.50]}"#, first.client())
            try await session.post(
                #"{"type":"patch","operations":[{"op":"copy","from":"/n","path":"/m"}]}"#)
            try await session.post(#"{"type":"emit","name":"x"}"#)
            let before = try await session.client.get(session.path).text
            #expect(before.contains(#""value":{"n":[1.50],"m":[1.50]}"#))
            try await first.murder()
            let again = session.on(try await journal.start())
            #expect(try await again.client.get(again.path).text == before)
            try await again.post(
                #"{"type":"patch","operations":[{"op":"remove","path":"/n"}]}"#)
            #expect(try await value(again)?["n"] == nil)
        }
    }
}

@Suite("ADR-0087 — states as patches over HTTP", .timeLimit(.minutes(60)))
struct PatchedStreamTests {
    private static let text = String(repeating: "x", count: 6_000)

    private func document(_ client: Client) async throws -> SessionHandle {
        let session = try await client.session("document")
        try await session.post(#"{"type":"set","value":{"text":"\#(Self.text)","list":[]}}"#)
        return session
    }

    private func add(_ number: Int, _ session: SessionHandle) async throws {
        try await session.post(
            #"{"type":"patch","operations":[{"op":"add","path":"/list/-","value":\#(number)}]}"#)
    }

    @Test(arguments: ["states?form=patch", "events?form=patch&only=states"])
    func `the states of one session`(path: String) async throws {
        let session = try await document(try await sharedServer())
        let stream = try await session.follow(path)
        for number in 0...2 { try await add(number, session) }
        let events = try await stream.next(3)
        #expect(events.map(\.name) == ["state", "patch", "patch"])
        #expect(events[2].data == #"[{"op":"add","path":"/value/list/2","value":2}]"#)
        #expect(events[2].id == "\(session.generation).4")
    }

    @Test func `a part, and pulses beside it`() async throws {
        let session = try await document(try await sharedServer())
        let stream = try await session.follow("events?form=patch&select=/value")
        for number in 0...1 { try await add(number, session) }
        try await session.post(#"{"type":"emit","name":"x"}"#)
        try await session.post(#"{"type":"append","path":"/text","text":"y"}"#)
        let events = try await stream.next(4)
        #expect(events.map(\.name) == ["state", "patch", "emitted", "state"])
        #expect(events[1].data == #"[{"op":"add","path":"/list/1","value":1}]"#)
    }

    @Test func `several sessions on one stream`() async throws {
        let client = try await sharedServer()
        let sessions = [try await document(client), try await document(client)]
        let query = sessions.map { "session=\($0.id)" }.joined(separator: "&")
        let stream = try await client.open("/v1/events?\(query)&only=states&form=patch")
        _ = try await stream.next(2)
        for session in sessions { for number in 0...1 { try await add(number, session) } }
        let events = try await stream.next(4)
        let names = sessions.flatMap { ["\($0.id)/state", "\($0.id)/patch"] }
        #expect(events.map(\.name).sorted() == names.sorted())
    }

    @Test func `a reader that resumes after a restart gets the state first`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await document(first.client())
            let stream = try await session.follow("states?form=patch")
            for number in 0...1 { try await add(number, session) }
            let seen = try await stream.next(2)
            #expect(seen[1].name == "patch")
            try await first.murder()
            let again = session.on(try await journal.start())
            let resumed = try await again.open(
                "states?form=patch", [("Last-Event-ID", seen[0].id)])
            #expect(try await resumed.next().name == "state")
            for number in 2...3 { try await add(number, again) }
            #expect(try await resumed.next(2).last?.name == "patch")
        }
    }

    @Test func `cut anywhere and resumed, a stream gives the same states`() async throws {
        let session = try await document(try await sharedServer())
        let stream = try await session.follow("states?form=patch")
        for number in 0...3 { try await add(number, session) }
        try await session.post(#"{"type":"emit","name":"\u2028 / ~"}"#)
        try await session.post(
            #"{"type":"patch","operations":[{"op":"add","path":"/é~0~1","value":{"\u2029":-0}},"#
                + #"{"op":"remove","path":"/list/0"}]}"#)
        let last = try await stream.next(6).last?.id ?? ""
        let bytes = await stream.bytes
        var rests: [String: [Event]] = [:]
        var parser = EventParser()
        var document = PatchedDocument()
        var id = ""
        for byte in bytes {
            // The connection ends before this byte: the client resumes after the last whole event.
            if !document.isEmpty, rests[id] == nil {
                let rest = try await session.rest(after: id, through: last)
                rests[id] = rest
                let end = try document.after(rest)
                #expect(end["value"]?["é~/"] == ["\u{2029}": 0])
                #expect(end["value"]?["list"] == [1, 2, 3])
                #expect(end["emitted"]?["name"] == "\u{2028} / ~")
            }
            for case .event(let event) in parser.parse([byte]) {
                try document.apply(event)
                id = event.id
            }
        }
        #expect(rests.count == 6)
        #expect(try document.after([]) == (try await session.state()))
    }

    @Test(arguments: [
        ("states?form=patches", "send state or patch"),
        ("events?form=patch&only=pulses", "no states"),
        ("states?form=patch&from=now", "from=now"), ("states?form=patch&from=start", "from=start"),
    ])
    func `a form that the stream cannot have is refused`(
        path: String, detail: String
    ) async throws {
        let session = try await sharedServer().session("document")
        let refused = try await session.client.get("\(session.path)/\(path)")
        #expect(refused.status == 400)
        #expect(try refused.json["code"] == "bad_form")
        #expect(try refused.json["detail"]?.string?.contains(detail) == true)
    }

    @Test func `other streams have no form`() async throws {
        let session = try await sharedServer().session("document")
        let refused = try await session.client.get("\(session.path)/pulses?form=patch")
        #expect(try refused.json["code"] == "unknown_parameter")
    }
}

/// A case of `Tests/PatchVectors`, as text, because Foundation would not keep the form of numbers.
struct SharedPatchCase {
    var document: String
    var patch: String
    /// Nil: the patch must fail.
    var expected: String?

    static func read(_ file: String) throws -> [SharedPatchCase] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let url = folder.appendingPathComponent("../../PatchVectors/\(file).json")
        let cases =
            try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [[String: Any]]
        return try (cases ?? []).compactMap { one in
            let comment = one["comment"] as? String ?? ""
            // An object with a repeated member name; refused as malformed JSON.
            guard !comment.contains("duplicate ops"), !comment.contains("A.13"),
                let document = try text(one["doc"]), let patch = try text(one["patch"])
            else { return nil }
            let expected = one["error"] == nil ? try text(one["expected"]) ?? document : nil
            return SharedPatchCase(document: document, patch: patch, expected: expected)
        }
    }

    private static func text(_ value: Any?) throws -> String? {
        guard let value else { return nil }
        let data = try JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed)
        return String(decoding: data, as: UTF8.self)
    }
}

extension SessionHandle {
    /// The events after one, on a stream of its own.
    fileprivate func rest(after id: String, through last: String) async throws -> [Event] {
        let stream = try await open("states?form=patch", [("Last-Event-ID", id)])
        var events: [Event] = []
        while (events.last?.id ?? id) != last { events.append(try await stream.next()) }
        await stream.close()
        return events
    }
}

/// A state as a client holds it; written for these tests, so that they share no code with the
/// server.
private struct PatchedDocument {
    private var state: JSONValue?

    var isEmpty: Bool { state == nil }

    /// The state after further events.
    func after(_ events: [Event]) throws -> JSONValue {
        var copy = self
        for event in events { try copy.apply(event) }
        return copy.state ?? .null
    }

    mutating func apply(_ event: Event) throws {
        let data = try JSONValue(text: event.data)
        guard event.name == "patch" else { return state = data }
        for operation in data.array ?? [] {
            let tokens = (operation["path"]?.string ?? "").split(separator: "/").map {
                String($0).replacing("~1", with: "/").replacing("~0", with: "~")
            }
            state = try Self.changed(state, tokens[...], operation)
        }
    }

    private static func changed(
        _ value: JSONValue?, _ path: ArraySlice<String>, _ operation: JSONValue
    ) throws -> JSONValue? {
        guard let token = path.first else { return operation["value"] }
        let (rest, isLast) = (path.dropFirst(), path.count == 1)
        switch value {
        case .object(var members):
            members[token] = try changed(members[token], rest, operation)
            return .object(members)
        case .array(var elements):
            let index = try #require(Int(token))
            if isLast, operation["op"] == "add" {
                elements.insert(try #require(operation["value"]), at: index)
            } else if let element = try changed(elements[index], rest, operation) {
                elements[index] = element
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        default: throw Misplaced()
        }
    }

    private struct Misplaced: Error {}
}
