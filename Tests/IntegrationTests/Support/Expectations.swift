import Testing

/// Expects a problem as in contract §3.3: RFC 9457, with a code and a detail that names the fault.
func expectProblem(
    _ response: Response, _ status: Int, _ code: String, detail: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    #expect(response.status == status, "\(response.text)", sourceLocation: sourceLocation)
    #expect(
        response["Content-Type"] == "application/problem+json", sourceLocation: sourceLocation)
    let problem = try response.json
    #expect(problem["status"] == .integer(status), sourceLocation: sourceLocation)
    #expect(problem["code"] == .string(code), sourceLocation: sourceLocation)
    #expect(
        problem["type"] == .string("/openapi.yaml#\(code)"), sourceLocation: sourceLocation)
    let title = problem["title"]?.string ?? ""
    #expect(!title.isEmpty, sourceLocation: sourceLocation)
    let text = problem["detail"]?.string ?? ""
    #expect(!text.isEmpty, sourceLocation: sourceLocation)
    #expect(detail.isEmpty || text.contains(detail), "\(text)", sourceLocation: sourceLocation)
}
