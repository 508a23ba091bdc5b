import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";

/** A patch (RFC 6902) that makes one value of another: members by name, elements by index. */
export function difference(old, value, path = "") {
  if (old === value) return [];
  const isObject = (one) => !!one && typeof one === "object";
  if (!isObject(old) || !isObject(value) || Array.isArray(old) !== Array.isArray(value)) {
    return [{ op: "replace", path, value }];
  }
  const place = (key) => `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const gone = Object.keys(old).filter((key) => !Object.hasOwn(value, key)).reverse();
  return [
    ...gone.map((key) => ({ op: "remove", path: place(key) })),
    ...Object.keys(value).flatMap((key) =>
      Object.hasOwn(old, key)
        ? difference(old[key], value[key], place(key))
        : [{ op: "add", path: place(key), value: value[key] }]
    ),
  ];
}

/** A server of one session that the test writes. States are patches on a stream that asks for them. */
export class Fake {
  changes = [];
  keepsStates = true;
  posts = [];
  requests = [];
  /** The response that is no stream, if there is one. */
  refuse = () => undefined;
  #streams = [];
  /** The names of the events that were sent. */
  sent = [];
  /** The states by their positions. */
  #states = new Map();
  /** Called when a stream is opened. */
  onOpen = () => {};
  #opened;
  opened = new Promise((resolve) => this.#opened = resolve);

  /** As an outbox. */
  open = () => [];
  write = (changes) => void this.changes.push(...structuredClone(changes));
  close = () => {};

  constructor(answer = () => [200, { position: "aaaaaaaa.1", version: 1 }]) {
    this.answer = answer;
  }

  fetch = async (url, { method, headers, body, signal }) => {
    this.requests.push({ method, target: url.replace("http://127.0.0.1", ""), headers });
    if (method !== "GET" || !headers.Accept?.startsWith("text/event-stream")) {
      if (method !== "GET") this.posts.push(body);
      const [status, members] = await this.answer(body, signal);
      const type = status < 400 ? "application/json" : "application/problem+json";
      return new Response(JSON.stringify(members), { status, headers: { "content-type": type } });
    }
    const refusal = this.refuse(headers);
    if (refusal) return refusal;
    const stream = new ReadableStream({
      start: (controller) => {
        signal.addEventListener("abort", () => controller.error(signal.reason));
        const after = new URL(url).searchParams.get("after");
        this.#streams.push({ url, controller, state: this.#states.get(after) });
        this.#opened();
        this.onOpen();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };

  /** An event on the newest stream whose target has a text. */
  send(name, position, data, target = "/events") {
    const stream = this.#newest(target);
    const state = name === "state" ? data : name === "snapshot" ? data.state : stream.state;
    if (name === "state" && stream.url.includes("form=patch") && stream.state !== undefined) {
      [name, data] = ["patch", difference(stream.state, data)];
    }
    this.sent.push(name);
    stream.state = this.remember(position, state);
    this.sendText(`event: ${name}\nid: aaaaaaaa.${position}\ndata: ${JSON.stringify(data)}\n\n`, target);
  }

  sendText(text, target = "/events") {
    this.#newest(target).controller.enqueue(new TextEncoder().encode(text));
  }

  #newest = (target) => this.#streams.filter((one) => one.url.includes(target)).pop();

  /** Notes the state at a position. */
  remember(position, state) {
    const copy = structuredClone(state);
    this.#states.set(`aaaaaaaa.${position}`, copy);
    return copy;
  }

  /** Whether this number of streams was opened whose target has a text. @param {string} target @param {number} count */
  isOpen(target, count) {
    return this.#streams.filter((one) => one.url.includes(target)).length >= count;
  }

  /** Cuts the newest stream; resolves when the client has opened the next one. */
  async cut(client) {
    const opened = new Promise((resolve) => this.#opened = resolve);
    this.#streams[this.#streams.length - 1].controller.error(new Error("cut"));
    const waking = setInterval(() => client.wake());
    await opened;
    clearInterval(waking);
  }

  /** A client with a session whose state is `{ sum: 0 }`. */
  async session(options, { ReactorClient: Client = ReactorClient, ...clientOptions } = {}) {
    const client = new Client("http://127.0.0.1", { fetch: this.fetch, outbox: this, ...clientOptions });
    const session = client.session("room", options);
    await this.opened;
    this.send("snapshot", "0", { pulses: { value: 0 }, state: { sum: 0 } });
    await session.ready;
    return { client, session };
  }
}

export const isSum = (session, sum) =>
  new Promise((resolve) => {
    const look = () => session.state.sum === sum && resolve(undefined);
    session.subscribe(look);
    look();
  });

/** An answer that does not come before the request is given up. */
export const never = (_, signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
