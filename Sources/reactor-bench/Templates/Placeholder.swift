/// The placeholders of a template.
enum Placeholder: String, CaseIterable {
    /// The connection's index, from 0.
    case connection = "i"
    /// The request's number in the run, from 0.
    case number = "n"
    /// The session's name: the run's name, a dash, the index.
    case session
    /// The same, as other servers call it.
    case stream
    /// The session's index, from 0.
    case index
    /// The publisher's index, from 0.
    case publisher
    /// The `Mark` by which a subscriber recognises the event.
    case mark
    /// The run's name, random unless it is given: two runs do not meet in one session.
    case run
}
