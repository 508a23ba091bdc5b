import FuzzSupport
import JSONCoding

@main enum PatchesTarget: FuzzTarget {}

/// Patches: two lines, each JSON.
///
/// The difference between the lines, if there is one, changes the first to the second. The second
/// line, as a patch of the first, applies fully or not at all, and leaves a document that can be
/// encoded and decoded again. Bytes that are not JSON never trap.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPatches(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let lines = unsafe FuzzInput(start, count).bytes.split(
        separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false
    ).map(Array.init)
    guard lines.count == 2 else { return 0 }
    _ = JSONPatch.difference(from: lines[0], to: lines[1])
    guard let one = try? JSON.decode(JSONValue.self, from: lines[0]),
        let other = try? JSON.decode(JSONValue.self, from: lines[1])
    else { return 0 }
    checkLaw(one, other)
    checkPatch(one, other)
    return 0
}

private func checkLaw(_ one: JSONValue, _ other: JSONValue) {
    // With this padding, no patch is too long.
    let padding = JSONValue.string(String(repeating: "p", count: 8_192))
    let (before, after) = (JSONValue.array([one, padding]), JSONValue.array([other, padding]))
    guard let patch = JSONPatch.difference(from: encoded(before), to: encoded(after)) else {
        return require(encoded(other).count > 2_000, "no patch for \(other)")
    }
    var result = before
    do {
        try JSONPatch(JSON.decode(JSONValue.self, from: patch)).apply(to: &result)
    } catch {
        fatalError("\(String(decoding: patch, as: UTF8.self)): \(error)")
    }
    require(ordered(result) == ordered(after), String(decoding: patch, as: UTF8.self))
}

private func checkPatch(_ document: JSONValue, _ text: JSONValue) {
    guard let patch = try? JSONPatch(text) else { return }
    var result = document
    do {
        try patch.apply(to: &result)
        let text = encoded(result)
        require((try? JSON.decode(JSONValue.self, from: text)) == result, "another document")
    } catch {
        require(result == document, "a failed patch has changed the document: \(error)")
    }
}

private func encoded(_ value: JSONValue) -> [UInt8] {
    var text: [UInt8] = []
    do {
        try JSON.encode(value, into: &text)
    } catch {
        fatalError("the value cannot be encoded: \(error)")
    }
    return text
}

/// The value with its members sorted by name.
private func ordered(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): .array(elements.map(ordered))
    case .object(let members):
        .object(
            members.map { .init(key: $0.key, value: ordered($0.value)) }
                .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
    default: value
    }
}
