/// The placeholders of a template.
enum Placeholder: String, CaseIterable {
    /// The connection's index, from 0.
    case connection = "i"
    /// The request's number in the run, from 0.
    case number = "n"
    /// The session's name: the run's name, a dash, the index.
    case session
    /// The session's name, under the placeholder that other servers use.
    case stream
    /// The sessions of one stream, as parameters: `session=a&session=b`.
    case sessions
    /// The session's index, from 0.
    case index
    /// The publisher's index, from 0.
    case publisher
    /// The `Mark` with which a subscriber recognises the event.
    case mark
    /// The run's name, random unless it is given, so that two runs never share a session.
    case run
}
