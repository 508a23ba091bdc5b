#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The schemas of the types that this coder, the standard library and Foundation define.
enum SchemaTypes {
    static let known: [ObjectIdentifier: JSONSchema] = {
        var known: [ObjectIdentifier: JSONSchema] = [
            ObjectIdentifier(Bool.self): JSONSchema(["type": "boolean"]),
            ObjectIdentifier(String.self): JSONSchema(["type": "string"]),
            ObjectIdentifier(Double.self): JSONSchema(["type": "number"]),
            ObjectIdentifier(Decimal.self): JSONSchema(["type": "number"]),
            // Larger numbers are refused.
            ObjectIdentifier(Float.self): JSONSchema([
                "type": "number", "minimum": .number("-3.4028235e38"),
                "maximum": .number("3.4028235e38"),
            ]),
            // Numbers are written for years that RFC 3339 does not have, and read as Foundation's.
            ObjectIdentifier(Date.self): JSONSchema([
                "type": ["string", "number"], "format": "date-time",
            ]),
            ObjectIdentifier(UUID.self): JSONSchema([
                "type": "string", "format": "uuid",
                "pattern":
                    "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
            ]),
            ObjectIdentifier(Data.self): JSONSchema([
                "type": "string", "contentEncoding": "base64",
                "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
            ]),
            ObjectIdentifier(URL.self): JSONSchema([
                "type": "string", "format": "uri-reference", "minLength": 1,
            ]),
            ObjectIdentifier(JSONValue.self): .anything,
        ]
        let integers: [any FixedWidthInteger.Type] = [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self, UInt.self,
            UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self,
        ]
        for type in integers { known[ObjectIdentifier(type)] = integer(type) }
        return known
    }()

    private static func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> JSONSchema {
        JSONSchema([
            "type": "integer", "minimum": .number(String(Value.min)),
            "maximum": .number(String(Value.max)),
        ])
    }
}
