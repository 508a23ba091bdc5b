import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";

/** A server of one session that the test writes. */
export class Fake {
  changes = [];
  keepsStates = true;
  posts = [];
  requests = [];
  /** The response that is no stream, if there is one. */
  refuse = () => undefined;
  #streams = [];
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
        this.#streams.push({ url, controller });
        this.#opened();
        this.onOpen();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };

  /** An event on the newest stream whose target has a text. */
  send(name, position, data, target = "/events") {
    this.sendText(`event: ${name}\nid: aaaaaaaa.${position}\ndata: ${JSON.stringify(data)}\n\n`, target);
  }

  sendText(text, target = "/events") {
    const stream = this.#streams.filter((one) => one.url.includes(target)).pop();
    stream.controller.enqueue(new TextEncoder().encode(text));
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
