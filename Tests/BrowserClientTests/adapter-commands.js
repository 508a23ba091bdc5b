import { InDoubtError, ProblemError, ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";

/** A failure as the runner has it. */
function failure(error) {
  if (error instanceof ProblemError) {
    if (error.position !== undefined) {
      return { kind: "position_changed", position: error.position, detail: error.message };
    }
    return { kind: "refused", status: error.status, code: error.code, detail: error.detail };
  }
  if (error instanceof InDoubtError) return { kind: "in_doubt", detail: error.message };
  const { code = "failed", reason, message } = error;
  return { kind: code, reason, detail: String(message) };
}

/** The same as the reactor `chat` of the samples. */
function chat(state, action) {
  if (action.type !== "say" || !action.text.trim()) return state;
  const message = { number: state.count + 1, author: action.author, text: action.text };
  return { newest: message, count: state.count + 1, messages: [...state.messages, message].slice(-100) };
}

/** The commands of the runner, on one client. */
export class Adapter {
  client;
  sessions = new Map();
  tickets = new Map();
  questions = new Map();
  refusals = new Map();
  lastNumber = 0;

  /** `write`: writes a line; `outbox`: opens one. */
  constructor({ write, outbox }) {
    this.write = (members) => write(JSON.stringify(members));
    this.outbox = outbox;
  }

  perform(line) {
    const command = JSON.parse(line, (_, value) => value);
    for (const [name, value] of Object.entries(command)) if (value === null) delete command[name];
    const { id } = command;
    const run = async () => {
      try {
        this.write({ reply: id, ...await this[command.command](command) });
      } catch (error) {
        this.write({ reply: id, failure: failure(error) });
      }
    };
    run();
  }

  event(name, members) {
    this.write({ event: name, ...members });
  }

  async open({ server, outbox, account, credentials }) {
    const options = {};
    if (outbox !== undefined) options.outbox = this.outbox(outbox, account);
    if (credentials) {
      options.token = ({ refused }) =>
        new Promise((resolve) => {
          const request = ++this.lastNumber;
          this.questions.set(request, resolve);
          this.event("credential", { request, refused: refused ?? null });
        });
    }
    try {
      this.client = new ReactorClient(server ?? "", options);
    } catch (error) {
      throw Object.assign(error, { code: "bad_address" });
    }
    try {
      await this.client.opened;
    } catch (error) {
      throw Object.assign(error, { code: "outbox_unavailable" });
    }
    this.client.on("refusal", (refusal) => {
      this.refusals.set(++this.lastNumber, refusal);
      this.event("refusal", { refusal: this.lastNumber, session: refusal.session, failure: failure(refusal.error) });
    });
  }

  async follow({ session: id, reactor, from, after, predict, shown }) {
    const predicts = !!predict && reactor === "chat";
    const options = { reactor, from: after === undefined ? from : { after }, predict: predicts ? chat : undefined };
    for (const [name, value] of Object.entries(options)) if (value === undefined) delete options[name];
    let session;
    try {
      session = this.client.session(id, options);
    } catch (error) {
      throw Object.assign(error, { code: error instanceof TypeError ? "bad_session_id" : error.code });
    }
    this.report(session, shown);
    try {
      await session.ready;
    } catch (error) {
      const { status } = session;
      session.leave();
      if (status.kind === "ended") throw { code: "ended", reason: status.reason, message: error.message };
      throw error;
    }
    this.sessions.set(id, session);
    return { predicts };
  }

  report(session, shown) {
    const { id } = session;
    session.onEvent(({ kind, ...members }) => {
      this.event(kind === "pulse" || kind === "activity" ? "happened" : kind, { session: id, ...members });
    });
    let state;
    let status;
    session.subscribe(() => {
      if (session.state !== state) {
        state = session.state;
        if (shown) this.event("shown", { session: id, state });
      }
      if (session.status !== status) {
        status = session.status;
        const why = status.why ?? status.problem?.detail ?? status.reason ?? null;
        this.event("status", { session: id, status: status.kind, why });
      }
    });
  }

  session({ session: id }) {
    const session = this.sessions.get(id);
    if (!session) throw { code: "not_followed", message: "the session is not followed" };
    return session;
  }

  submit(command) {
    const { ticket: name, action = null } = command;
    const ticket = this.session(command).submit(action);
    this.tickets.set(name, ticket);
    ticket.on((progress) => {
      const members = { ticket: name, outcome: progress.kind };
      if (progress.kind === "applied") members.receipt = receipt(progress.receipt);
      if (progress.kind === "failed") members.failure = failure(progress.error);
      this.event("outcome", members);
    });
  }

  async send(command) {
    const { actions = [], position, settled } = command;
    const options = {};
    if (position !== undefined) options.ifMatch = position;
    if (settled !== undefined) options.settled = settled;
    return { receipt: receipt(await this.session(command).send(actions, options)) };
  }

  async discard({ ticket }) {
    return { discarded: await this.tickets.get(ticket)?.discard() ?? false };
  }

  read(command) {
    const { state, confirmed, position = null, pending, status } = this.session(command);
    return { shown: state, confirmed, position, pending, status: status.kind };
  }

  async delete(command) {
    await this.session(command).delete();
  }

  leave(command) {
    this.session(command).leave();
    this.sessions.delete(command.session);
  }

  wake() {
    this.client?.wake();
  }

  credential({ request, token }) {
    this.questions.get(request)?.(token);
    this.questions.delete(request);
  }

  dismiss({ refusal }) {
    this.refusals.get(refusal)?.dismiss();
    this.refusals.delete(refusal);
  }

  async close() {
    await this.client?.close();
  }
}

const receipt = ({ position, version = null, rejected }) => ({ position, version, rejected });
