import Foundation
import FuzzSupport
import JSONCoding
import SampleReactors

@main enum ActionsTarget: FuzzTarget {}

/// The decoder of actions: an action that is accepted is the same when it is encoded and decoded
/// again; a value that Foundation's decoder accepts as well has the same value there; questions
/// about text that is not decoded never trap.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzActions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe FuzzInput(start, count).bytes
    checkRoundTrip(Alerts.Action.self, bytes)
    checkRoundTrip(Chat.Action.self, bytes)
    checkRoundTrip(Counter.Action.self, bytes)
    checkRoundTrip(Job.Action.self, bytes)
    checkRoundTrip([Alerts.Action].self, bytes)
    checkRoundTrip(Job.State.self, bytes)
    checkRoundTrip(JSONValue.self, bytes)
    checkAgreement(bytes)
    checkParts(bytes)
    return 0
}

private func checkRoundTrip<Value: Codable>(_ type: Value.Type, _ bytes: [UInt8]) {
    _ = try? JSON.decode(type, stored: bytes, over: { Array("{}".utf8) })
    guard let value = try? JSON.decode(type, from: bytes) else { return }
    let text = encoded(value)
    require(JSON.isLine(text), "no line of JSON: \(String(decoding: text, as: UTF8.self))")
    guard let copy = try? JSON.decode(type, from: text) else {
        fatalError("its own encoding is refused: \(String(decoding: text, as: UTF8.self))")
    }
    require(encoded(copy) == text, "another value: \(String(decoding: text, as: UTF8.self))")
}

private func encoded(_ value: some Encodable) -> [UInt8] {
    var text: [UInt8] = []
    do {
        try JSON.encode(value, into: &text)
    } catch {
        fatalError("a decoded value cannot be encoded: \(error)")
    }
    return text
}

/// A value of the kinds that actions have.
private struct Plain: Codable, Equatable {
    enum Choice: Codable, Equatable { case one(text: String), two(Int, Bool), three }
    struct Part: Codable, Equatable { var n: Int8, choice: Choice? }

    var a: Int?
    var b: [String: Double]?
    var c: Bool?
    var d: String?
    var e: [UInt64]?
    var f: [Part]?
}

private func checkAgreement(_ bytes: [UInt8]) {
    guard let ours = try? JSON.decode(Plain.self, from: bytes),
        let theirs = try? JSONDecoder().decode(Plain.self, from: Data(bytes))
    else { return }
    require(ours == theirs, "\(ours) here, \(theirs) in Foundation")
}

private func checkParts(_ bytes: [UInt8]) {
    if let line = JSON.oneLine(bytes) { _ = JSON.isLine(Array(line)) }
    if let members = JSON.members(of: bytes) {
        require(JSON.isLine(bytes) == false || members.count <= bytes.count, "members from nowhere")
        for name in members.keys.prefix(4) {
            _ = JSON.slice(JSONPointer(tokens: [name]), of: bytes)
        }
    }
    _ = JSON.elements(of: bytes)
    for text in ["", "/0", "/a/0", "/type", "/~01/-"] {
        guard let pointer = try? JSONPointer(text) else { continue }
        if let range = JSON.slice(pointer, of: bytes) {
            require(range.upperBound <= bytes.count, "a part outside of the text")
        }
    }
    if let pointer = try? JSONPointer(String(decoding: bytes, as: UTF8.self)) {
        require((try? JSONPointer(pointer.description)) == pointer, "another pointer: \(pointer)")
    }
}
