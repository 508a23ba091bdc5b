/// Splits a line into words as a shell would: quotes keep spaces, nothing is expanded.
enum ShellWords {
    /// The words; nil when a quote is not closed.
    static func split(_ line: String) -> [String]? {
        var words: [String] = []
        var word = ""
        var isInWord = false
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
                isInWord = true
            } else if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                isInWord = true
            } else if character.isWhitespace {
                if isInWord { words.append(word) }
                word = ""
                isInWord = false
            } else {
                word.append(character)
                isInWord = true
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        if isInWord { words.append(word) }
        return words
    }
}
