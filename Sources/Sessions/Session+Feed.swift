package import Feeds
package import JSONCoding
internal import Storage

// The states of a session, for its feed, and requests for streams, which wait for the decided
// steps.
extension Session: ReadableSession {
    package var isDeciding: Bool { isRunning }

    var streams: FeedStreams { feed.streams }

    package var copyCharge: WorkCharge? { nil }

    package func recordUse() { table.eviction.recordUse(of: self) }

    @usableFromInline
    var wantsStates: Bool {
        feed.wantsStates(ahead: meters.ahead.bytes, ofBytes: meters.state.size)
    }

    // MARK: Opening a stream

    package func subscribe(_ request: SubscriptionRequest) {
        guard isRunning else { return answer(content(absence), request.token) }
        recordUse()
        if request.selection.log { keepNotes() }
        // A part of a large state has to be searched for. Such streams wait, and share one search.
        guard request.selection.pointer != nil, stateEstimate > WorkBudget.smallestBytes,
            table.openings.hasRoom
        else {
            return open(request)
        }
        table.openings.append(request, of: self)
    }

    /// Opens a stream once the steps that are decided so far are committed. The session may have
    /// ended since the request.
    func open(_ request: SubscriptionRequest) {
        guard isRunning, let opener = StreamOpener(feed) else {
            return answer(content(absence), request.token)
        }
        guard let newestStep = uncommitted.last else { return opener.openNow(request) }
        do throws(WorkOverload) {
            let snapshot = try opener.snapshotAhead(for: request)
            var request = request
            request.notes = history.newest.notes
            table.commits.attach(
                .subscription(request, number: history.newest.number, snapshot: snapshot),
                to: newestStep)
        } catch {
            table.answer(.overBudget, to: request.token, of: feed)
        }
    }

    /// Another node may own the session by now, and may have reached the position. The journal
    /// knows.
    func confirm(_ request: SubscriptionRequest) {
        table.read(id, .confirmed) { [self] found, _ in
            switch found {
            case .session(let present) where present === self:
                var request = request
                request.isConfirmed = true
                subscribe(request)
            case .unreadable(let failure):
                table.output.reply(content(.unreadable(failure)), to: request.token)
            default:
                let client = table.output.client(of: request.token)
                table.findForStream(id, for: client, while: { true }) { [self] found in
                    openElsewhere(request, found)
                }
            }
        }
    }

    /// Opens a stream of a session that this node no longer owns.
    private func openElsewhere(_ request: SubscriptionRequest, _ found: SessionLookup) {
        guard let present = found.readable, present.key == key else {
            // The client connects again.
            return table.output.reply(content(.failed(.leftMemory)), to: request.token)
        }
        present.subscribe(request)
    }

    // MARK: States

    package func encodeState(
        _ form: StateForm, at version: UInt64?, to out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        try machine?.encodeState(form, at: version, in: self, to: &out)
    }

    package func appendPulses(_ chosen: UInt64, at version: UInt64, to out: inout [UInt8]) {
        machine?.encodePulses(chosen, at: version, in: self, to: &out)
    }

    package func appendMutation(to version: UInt64, _ out: inout [UInt8]) {
        machine?.encodeMutation(to: version, in: self, out: &out)
    }

    package func endReplay() { machine?.endReplay() }

    /// The pointers of the parts that streams show, or are about to show.
    package func pointers() -> [JSONPointer] {
        feed.pointers + table.openings.pointers(of: self)
    }

    package func forget(before version: UInt64, atOnce: Bool) -> Bool {
        machine?.forget(before: version, atOnce: atOnce) ?? false
    }

    /// Shows what is committed to the readers.
    func publish(isContinued: Bool = false) {
        meters.ahead.forget()
        feed.publish(isContinued: isContinued)
        finishIfFramed()
    }
}
