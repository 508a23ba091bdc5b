internal import ClientMachine

/// Passes what arrives on a stream to the driver.
final class StreamReceiver: RoundReceiver {
    private let id: AttemptID
    private let driver: ClientDriver

    init(_ id: AttemptID, _ driver: ClientDriver) {
        self.id = id
        self.driver = driver
    }

    func head(_ status: Int, _ fields: [TransportField]) {
        driver.arrived(
            .streamOpened(id, ClientResponse(status, fields: fields.map(\.machineField))))
    }

    func bytes(_ chunk: [UInt8]) -> TransportDemand { driver.receive(chunk, of: id) }

    func ended(_ failure: TransportFailure?) { driver.streamEnded(id, failure) }

    func roundEnded() { driver.roundEnded() }
}
