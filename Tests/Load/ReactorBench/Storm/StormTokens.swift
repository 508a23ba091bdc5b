/// The tokens of a storm's clients: HS256 with ``secret``, valid until the year 2100.
///
/// Constants, because the load generator has no cryptography.
enum StormTokens {
    static let secret = "a storm's secret, which is no secret"

    /// A client that may do everything: the crew and the hunters.
    static let all = token(
        "eyJzdWIiOiJzdG9ybSIsImV4cCI6NDEwMjQ0NDgwMCwicmVhY3RvciI6eyJ2ZXJicyI6WyJj"
            + "cmVhdGUiLCJhY3QiLCJyZWFkIiwibG9nIiwiZGVsZXRlIiwiYWRtaW4iXSwic2Vzc2lvbnMi"
            + "OlsiKiJdfX0.-h4HQDgUOHWFsLULfJTOMNIrLLAYwkcN_z30L3KLfIk")

    /// Those of the noise: everything; own sessions and those of `alerts`; own sessions alone; one
    /// pulse and two actions; one that has expired; one that is not signed.
    static let noise = [
        all, all, all, all,
        token(
            "eyJzdWIiOiJhZGEiLCJleHAiOjQxMDI0NDQ4MDAsInJlYWN0b3IiOnsidmVyYnMiOlsiY3Jl"
                + "YXRlIiwiYWN0IiwicmVhZCIsImxvZyIsImRlbGV0ZSJdLCJzZXNzaW9ucyI6WyJhbGVydHMt"
                + "KiJdLCJvd24iOnRydWV9fQ.qX6mMYZ4kBQOoEgMpuRxZ_joBOVaf7jXflcONUA6foQ"),
        token(
            "eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDAsInJlYWN0b3IiOnsidmVyYnMiOlsiY3Jl"
                + "YXRlIiwiYWN0IiwicmVhZCIsImRlbGV0ZSJdLCJzZXNzaW9ucyI6W10sIm93biI6dHJ1ZX19"
                + ".AVZsGJpcmPVeXU5_ScMPxkhrET_r4uRo4GybZ_c0PlQ"),
        token(
            "eyJzdWIiOiJib2IiLCJleHAiOjQxMDI0NDQ4MDAsInJlYWN0b3IiOnsidmVyYnMiOlsiYWN0"
                + "IiwicmVhZCJdLCJzZXNzaW9ucyI6WyIqIl0sInB1bHNlcyI6WyJuZXdlc3QiXSwiYWN0aW9u"
                + "cyI6WyJhbGVydCIsImluY3JlbWVudCJdfX0.Aw3c9s3n8pocQSNvZTQjdxuolsOYLtknxPxL"
                + "PAuFtBc"),
        token(
            "eyJzdWIiOiJsYXRlIiwiZXhwIjoxMDAwMDAwMDAwLCJyZWFjdG9yIjp7InZlcmJzIjpbImNy"
                + "ZWF0ZSIsImFjdCIsInJlYWQiLCJsb2ciLCJkZWxldGUiLCJhZG1pbiJdLCJzZXNzaW9ucyI6"
                + "WyIqIl19fQ.5iEN9BYZoV6V_eQxCkA_lhGG7IeFjM-prHN9T8TN_zs"),
        all + "A",
    ]

    private static func token(_ rest: String) -> String {
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + rest
    }
}
