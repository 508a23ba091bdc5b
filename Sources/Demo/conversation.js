// One session of the sample reactor `conversation` on two screens, each with a network that can be
// switched off.

import { ReactorClient } from "../reactor-client.js";
import { Network } from "./network.js";

const SESSION = "demo-conversation";

/** Counts the tokens that arrive, and those that are missing or come twice. */
class TokenCheck {
  received = 0;
  faults = 0;
  #message;
  #next = 0;

  /** The tokens that the answer has already. @param {any} state */
  begin(state) {
    this.#message = state.messages.at(-1)?.number;
    this.#next = state.tokens;
  }

  add({ message, index }) {
    if (message !== this.#message) [this.#message, this.#next] = [message, 0];
    if (index !== this.#next) this.faults += 1;
    this.received += 1;
    this.#next = index + 1;
  }

  toString() {
    if (this.faults) return `${this.faults} tokens are missing or came twice.`;
    return this.received ? `${this.received} tokens, each once` : "";
  }
}

class Screen {
  #network = new Network();
  #check = new TokenCheck();
  /** @type {Map<number, HTMLElement>} */
  #rows = new Map();
  #client;
  #session;
  #node;

  constructor(name, template, place) {
    place.append(template.content.cloneNode(true));
    this.#node = place.lastElementChild;
    this.#node.classList.add(name.toLowerCase());
    this.#find("h2").textContent = name;
    this.#find("form label").htmlFor = this.#find(".text").id = `text-${name}`;
    this.#client = new ReactorClient(new URL("..", import.meta.url), { fetch: this.#network.fetch });
    this.#session = this.#client.session(SESSION, { reactor: "conversation" });
    this.#listen();
  }

  #find(selector) {
    return this.#node.querySelector(selector);
  }

  #listen() {
    this.#session.subscribe(() => this.#show());
    this.#session.onEvent((event) => {
      if (event.kind === "present") this.#check.begin(event.state);
      if (event.kind === "pulse" && event.name === "token") this.#check.add(event.value);
    });
    this.#find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = this.#find(".text");
      this.#submit({ type: "ask", text: field.value });
      field.value = "";
    });
    this.#find(".stop").addEventListener("click", () => this.#submit({ type: "stop" }));
    this.#find(".switch input").addEventListener("change", (event) => {
      this.#network.turn(!event.target.checked);
      this.#node.classList.toggle("offline", event.target.checked);
      this.#client.wake();
      this.#show();
    });
  }

  #submit(action) {
    const problem = this.#find(".problem");
    problem.hidden = true;
    this.#session.submit(action).done.catch((error) => {
      problem.textContent = error.detail ?? error.message;
      problem.hidden = false;
    });
  }

  #show() {
    const { state, pending, status } = this.#session;
    const words = this.#network.isOn ? status.kind : "offline";
    this.#find(".status").textContent = pending > 0 ? `${words}, ${pending} waiting` : words;
    if (!state) return;
    const isUnderWay = state.phase === "answering" || state.phase === "failed";
    this.#find(".ask").disabled = isUnderWay;
    this.#find(".stop").disabled = !isUnderWay;
    this.#find(".tokens").textContent = String(this.#check);
    this.#find(".tokens").classList.toggle("faulty", this.#check.faults > 0);
    this.#showMessages(state, isUnderWay);
  }

  /** Keeps the rows that are there, so that the focus and a selection stay. */
  #showMessages({ messages, phase, problem }, isUnderWay) {
    const list = this.#find(".conversation");
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    // So a screen reader reads the whole answer, and not each token.
    list.ariaBusy = String(isUnderWay);
    const rows = new Map();
    for (const message of messages) {
      const row = this.#rows.get(message.number) ?? this.#row(message);
      const text = row.querySelector(".said");
      if (text.textContent !== message.text) text.textContent = message.text;
      row.classList.remove("underway");
      row.querySelector(".note")?.replaceChildren();
      rows.set(message.number, row);
    }
    for (const [number, row] of this.#rows) if (!rows.has(number)) row.remove();
    for (const row of rows.values()) if (!row.isConnected) list.append(row);
    this.#rows = rows;
    const last = rows.get(messages.at(-1)?.number);
    if (last?.classList.contains("assistant")) {
      last.classList.toggle("underway", phase === "answering");
      const note = { stopped: "Stopped", failed: `The model has failed: ${problem}. It is asked again.` }[phase];
      last.querySelector(".note").textContent = note ?? "";
    }
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  }

  #row({ number, role }) {
    const row = document.createElement("div");
    row.className = role;
    const text = document.createElement("span");
    text.className = "said";
    if (role === "user") {
      const retry = document.createElement("button");
      retry.type = "button";
      retry.textContent = "Retry";
      retry.ariaLabel = "Retry from this question";
      retry.addEventListener("click", () => this.#submit({ type: "retry", question: number }));
      row.append(retry, text);
    } else {
      const note = document.createElement("small");
      note.className = "note";
      row.append(text, note);
    }
    return row;
  }
}

const [template, place] = [document.getElementById("screen"), document.getElementById("screens")];
for (const name of ["Phone", "Laptop"]) new Screen(name, template, place);
