/// Rows of cells as lines: the first column begins at the left, every other one ends at the right.
enum TextTable {
    /// - Parameter rows: of the same number of cells each, the head first.
    static func lines(_ rows: [[String]]) -> String {
        let columns = rows.first?.indices ?? 0..<0
        let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
