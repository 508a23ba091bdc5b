// Bodies that a storm posts: valid actions of the reactors, and bodies that no reactor accepts.

/// Makes bodies of requests, valid and not.
enum StormBodies {
    /// Actions of a reactor: one action, a batch, or an invalid one.
    static func actions(of reactor: String, _ random: inout SeededNumbers) -> [UInt8] {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<9: return Array(action(of: reactor, &random).utf8)
        case 9: return large(action(of: reactor, &random))
        case 10..<15:
            let count = Int.random(in: 1...70, using: &random)
            let one = action(of: reactor, &random)
            return Array("[\((0..<count).map { _ in one }.joined(separator: ","))]".utf8)
        case 15: return Array("[\(action(of: reactor, &random)),{\"type\":\"no\"}]".utf8)
        default: return hostile(&random)
        }
    }

    /// The action with a member that no reactor reads: the body is examined beside the loop.
    private static func large(_ action: String) -> [UInt8] {
        let values = String(repeating: "1,", count: 40_000)
        return Array("{\"unread\":[\(values)1],\(action.dropFirst())".utf8)
    }

    /// An action that is within every limit.
    static func plainAction(of reactor: String) -> String {
        switch reactor {
        case "counter": "{\"type\":\"increment\",\"number\":1}"
        case "job": "{\"type\":\"start\",\"steps\":2}"
        case "chat": "{\"type\":\"say\",\"author\":\"ada\",\"text\":\"hi\"}"
        case "countdown": "{\"type\":\"start\",\"seconds\":1}"
        // It refuses a question until the previous one has its answer.
        case "conversation": "{\"type\":\"stop\"}"
        case "document": "{\"type\":\"set\",\"value\":{\"text\":\"\",\"list\":[]}}"
        default: "{\"type\":\"alert\",\"message\":\"prey\"}"
        }
    }

    static func action(of reactor: String, _ random: inout SeededNumbers) -> String {
        let text = text(&random)
        let number = number(&random)
        switch reactor {
        case "counter":
            let type = Bool.random(using: &random) ? "increment" : "decrement"
            return "{\"type\":\"\(type)\",\"number\":\(number)}"
        case "job":
            let type =
                ["start", "startIfIdle", "cancel"].randomElement(using: &random) ?? "cancel"
            let steps = Int.random(in: 0...3, using: &random)
            return type == "cancel"
                ? "{\"type\":\"cancel\"}"
                : "{\"type\":\"\(type)\",\"steps\":\(steps)}"
        case "chat":
            return Bool.random(using: &random)
                ? "{\"type\":\"say\",\"author\":\"ada\",\"text\":\(text)}"
                : "{\"type\":\"typing\",\"author\":\(text)}"
        case "countdown":
            let actions = ["{\"type\":\"start\",\"seconds\":\(number)}", "{\"type\":\"stop\"}"]
            return actions.randomElement(using: &random) ?? ""
        case "conversation":
            let actions = [
                "{\"type\":\"ask\",\"text\":\(text)}", "{\"type\":\"answer\"}",
                "{\"type\":\"stop\"}",
                "{\"type\":\"retry\",\"question\":\(number)}",
            ]
            return actions.randomElement(using: &random) ?? ""
        case "document":
            let operations = [
                #"{"op":"add","path":"/list/-","value":\#(number)}"#,
                #"{"op":"copy","from":"/list","path":"/text"}"#,
                #"{"op":"remove","path":"/list/0"}"#,
                #"{"op":"test","path":"/text","value":\#(text)}"#,
                #"{"op":"move","from":"","path":"/list/0"}"#,
                #"{"op":"replace","path":"/text","value":\#(text)}"#,
            ].shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
            let actions = [
                #"{"type":"set","value":{"text":\#(text),"list":[\#(number)]}}"#,
                #"{"type":"patch","operations":[\#(operations.joined(separator: ","))]}"#,
                #"{"type":"append","path":"/text","text":\#(text)}"#,
                #"{"type":"emit","name":\#(text),"data":\#(number)}"#,
            ]
            return actions.randomElement(using: &random) ?? ""
        default:
            return Int.random(in: 0..<4, using: &random) == 0
                ? "{\"type\":\"doSomeAction\"}" : "{\"type\":\"alert\",\"message\":\(text)}"
        }
    }

    /// A JSON string, short or long, plain or escaped; sometimes another kind of value.
    private static func text(_ random: inout SeededNumbers) -> String {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: "null"
        case 1: "\"\(String(repeating: "long ", count: Int.random(in: 1...900, using: &random)))\""
        case 2: #""\u0000\ud83d\ude00\n\"""#
        case 3: #""\ud800""#
        case 4: "17"
        case 5: "\"ä€😀\""
        default: "\"m\(Int.random(in: 0..<100, using: &random))\""
        }
    }

    private static func number(_ random: inout SeededNumbers) -> String {
        let odd = [
            "1", "2", "5", "-3", "0", "-0", "9223372036854775807", "9223372036854775808", "1e999",
            "NaN", "1e-999999999", "1.5", "01", "-", "1e3",
        ]
        return Int.random(in: 0..<3, using: &random) > 0
            ? "1" : odd.randomElement(using: &random) ?? "1"
    }

    /// Invalid bodies: broken, deeply nested, huge, doubled, or in another encoding.
    static func hostile(_ random: inout SeededNumbers) -> [UInt8] {
        let depth = [3, 126, 127, 128, 129, 1_000].randomElement(using: &random) ?? 3
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return []
        case 1: return Array("{}".utf8)
        case 2: return Array("[]".utf8)
        case 3:
            return Array(
                (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        case 4: return Array(String(repeating: "{\"a\":", count: depth).utf8)
        case 5: return Array("{\"type\":\"alert\",\"type\":\"alert\",\"message\":\"twice\"}".utf8)
        case 6: return Array("{\"type\":\"alert\",\"message\":\"".utf8) + [0xFF, 0xC0, 0x22, 0x7D]
        case 7: return [UInt8](repeating: 0x20, count: Int.random(in: 1...100_000, using: &random))
        case 8:
            let size = Int.random(in: 1...90_000, using: &random)
            return Array("{\"type\":\"\(String(repeating: "t", count: size))\"}".utf8)
        case 9: return Array("{\"type\":\"alert\",\"message\":NaN}".utf8)
        case 10: return Array("{\"type\":\"increment\",\"number\":1e-999999999}".utf8)
        case 11: return Array("null".utf8)
        case 12:
            return (0..<Int.random(in: 1...200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
        default: return Array("{\"type\":}".utf8)
        }
    }

    /// The body of `POST` or `PUT` of a session; `from` makes a fork.
    static func session(
        _ reactor: String, from origin: String?, _ random: inout SeededNumbers
    ) -> [UInt8] {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: return Array("{\"reactor\":\"nobody\"}".utf8)
        case 1: return hostile(&random)
        default: break
        }
        guard let origin else { return Array("{\"reactor\":\"\(reactor)\"}".utf8) }
        let version =
            Bool.random(using: &random)
            ? ",\"version\":\(Int.random(in: 0...60, using: &random))" : ""
        return Array(
            "{\"reactor\":\"\(reactor)\",\"from\":{\"session\":\"\(origin)\"\(version)}}".utf8)
    }

    static func stub(_ random: inout SeededNumbers) -> [UInt8] {
        let bodies = [
            #"{"enabled":true}"#, #"{"enabled":false}"#, #"{"enabled":true,"state":{"actions":1}}"#,
            #"{"state":{"alertMessage":"stub","actions":3}}"#, #"{"enabled":1}"#, "{}",
            #"{"enabled":true,"state":{"count":1e999}}"#, #"{"state":null}"#,
        ]
        return Array((bodies.randomElement(using: &random) ?? "{}").utf8)
    }
}
