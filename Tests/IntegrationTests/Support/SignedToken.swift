import Foundation
import Wire

/// Makes tokens for servers with `--auth jwt --jwt-secret-file`.
struct SignedToken {
    static let secret = "0123456789abcdef0123456789abcdef"

    /// HS256, valid until 2100.
    ///
    /// - Parameters:
    ///   - subject: The text of `sub`, before its escapes.
    ///   - sessions: As JSON.
    static func make(
        _ subject: String, sessions: String = #"["*"]"#, own: Bool = false,
        secret: String = secret
    ) throws -> String {
        let name = String(decoding: try JSONEncoder().encode(subject), as: UTF8.self)
        let payload = """
            {"sub":\(name),"exp":4102444800,"reactor":{"own":\(own),"sessions":\(sessions),\
            "verbs":["create","act","read","delete"]}}
            """
        let signed = base64(#"{"alg":"HS256"}"#.utf8) + "." + base64(payload.utf8)
        let code = MessageCode.make(Array(signed.utf8), secret: Array(secret.utf8))
        return signed + "." + base64(code)
    }

    private static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
