import { position } from "../../Sources/BrowserClient/reactor-client/following.js";
import { ClientMachine } from "../../Sources/BrowserClient/reactor-client/machine.js";
import { Sender } from "../../Sources/BrowserClient/reactor-client/sender.js";
import { Outbox } from "../../Sources/BrowserClient/reactor-client/outbox.js";

/** A response of the service, unless its fields say otherwise. */
export const response = (status, body = "", fields = {}) => {
  const all = { "content-type": status < 400 ? "application/json" : "application/problem+json", ...fields };
  return { status, body, field: (name) => all[name] };
};

const streamHead = response(200, "", { "content-type": "text/event-stream" });

/** A machine with its clock and one session whose state is a number; an action adds its number. */
export class Client {
  now = { uptime: 0, date: 1_800_000_000 };
  /** What would survive the process. */
  saved = [];
  /** Whether changes are durable at once. */
  savesAtOnce = true;
  outputs = [];
  keys = [];
  requests = new Map();
  stream;
  state;
  base;
  overlay = [];
  shown;
  pending = 0;
  applied = [];
  failed = [];
  #count = 0;

  /** `sends`: whether it has the half that sends from the beginning. */
  constructor({ saved = [], sends = true, ...options } = {}) {
    this.saved = [...saved];
    this.machine = new ClientMachine({
      server: "https://example.com/base",
      random: { fraction: () => 0.5 },
      ...options,
    });
    if (sends) this.load();
  }

  /** The half that sends is loaded. */
  load() {
    const outbox = new Outbox();
    for (const change of this.saved) outbox.apply(change);
    const drawKey = () => `key-${++this.#count}`.padEnd(22, "x");
    return this.receive("senderLoaded", (machine) => new Sender(machine, drawKey, outbox));
  }

  receive(...input) {
    const outputs = this.machine.receive(input, this.now);
    this.outputs.push(...outputs);
    for (const output of outputs) this.#read(output);
    return outputs;
  }

  #read([kind, ...values]) {
    if (kind === "persist") {
      this.saved.push(...structuredClone(values[1]));
      if (this.savesAtOnce) this.receive("persisted", values[0]);
    } else if (kind === "openStream") this.stream = { id: values[0], ...values[1] };
    else if (kind === "request" && values[1].method === "POST") {
      const key = values[1].fields["Idempotency-Key"];
      if (!this.keys.includes(key)) this.keys.push(key);
      this.requests.set(key, { id: values[0], ...values[1] });
    } else if (kind === "deliver") this.#deliver(values[1]);
  }

  #deliver([kind, ...values]) {
    if (kind === "snapshot" && values[0].state) this.state = values[0].state.value;
    else if (kind === "state" && values[1]) this.state = values[0].value;
    else if (kind === "status") this.pending = values[0].pending;
    else if (kind === "outcome" && values[1].kind === "applied") this.applied.push(values[0]);
    else if (kind === "outcome" && ["refused", "inDoubt"].includes(values[1].kind)) this.failed.push(values[0]);
    else if (kind === "shown") {
      const { advancesBase, left, joined } = values[0];
      if (advancesBase) this.base = this.state;
      this.overlay = this.overlay.filter((one) => !left.includes(one.ticket)).concat(joined);
      this.shown = this.overlay.flatMap((one) => one.actions).reduce((sum, action) => sum + Number(action), this.base);
    }
  }

  #key(name) {
    return name?.startsWith("$") ? this.keys[Number(name.slice(1)) - 1] : name;
  }

  bytes(text) {
    return this.receive("streamBytes", this.stream.id, new TextEncoder().encode(text));
  }

  follow(following = {}) {
    const demand = { states: true, pulses: false, activities: false };
    this.receive("follow", "room", { demand, predicts: true, start: "present", ...following });
    return this.wait(50);
  }

  wait(milliseconds) {
    this.now = { uptime: this.now.uptime + milliseconds, date: this.now.date + Math.floor(milliseconds / 1_000) };
    return this.receive("timer");
  }

  send(action, options = {}) {
    return this.receive("send", "room", [String(action)], options);
  }

  answer(request, status, body, fields) {
    return this.receive("answered", request.id, response(status, body, fields));
  }

  perform(step) {
    const request = (number) => this.requests.get(this.keys[number - 1]);
    if (step.follow) this.follow();
    if (step.open) this.receive("streamOpened", this.stream.id, streamHead);
    if (step.cut) this.receive("streamEnded", this.stream.id, "it was cut");
    if (step.wait !== undefined) this.wait(step.wait);
    if (step.send !== undefined) this.send(step.send);
    if (step.event) {
      const cause = step.cause === undefined ? "" : `cause: ${this.#key(step.cause)}\n`;
      this.bytes(`event: ${step.event}\nid: ${step.position}\n${cause}data: ${step.data}\n\n`);
    }
    if (step.answer) {
      const body = JSON.stringify({ position: step.position, version: step.version });
      this.answer(request(step.answer), 200, body);
    }
    if (step.refuse) this.answer(request(step.refuse), 422, '{"code":"not_an_action","detail":"no"}');
    if (step.lose) this.receive("requestFailed", request(step.lose).id, "it was lost");
  }
}

export { position };
