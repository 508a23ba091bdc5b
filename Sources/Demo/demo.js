// Two clients of the sample reactors `chat`, `job` and `countdown`, each with a network that can
// be switched off.

import { ReactorClient } from "../reactor-client.js";
import { Network } from "./network.js";

const CHAT = "demo-chat";
const JOB = "demo-job";
const COUNTDOWN = "demo-countdown";
const STEPS = 60;
const SECONDS = 10;

/** The next state of the chat, as the reactor will make it: a message is shown before the server has it. */
function predict(state, action) {
  if (action.type !== "say" || !action.text.trim()) return state;
  const message = { number: state.count + 1, author: action.author, text: action.text };
  const messages = [...state.messages, message].slice(-100);
  return { ...state, newest: message, messages, count: message.number };
}

class Column {
  #network = new Network();
  #client;
  #name;
  #chat;
  #job;
  #countdown;
  #node;
  #typing;
  #lastTyped = 0;

  constructor(name, template, place) {
    this.#name = name;
    place.append(template.content.cloneNode(true));
    this.#node = place.lastElementChild;
    this.#find("h2").textContent = name;
    const label = this.#find("form label");
    label.htmlFor = this.#find(".text").id = `text-${name}`;
    const server = new URL("..", import.meta.url);
    this.#client = new ReactorClient(server, { fetch: this.#network.fetch, as: name });
    this.#chat = this.#client.session(CHAT, { reactor: "chat", predict, follow: { presence: true } });
    this.#job = this.#client.session(JOB, { reactor: "job" });
    this.#countdown = this.#client.session(COUNTDOWN, { reactor: "countdown" });
    this.#listen();
  }

  #find(selector) {
    return this.#node.querySelector(selector);
  }

  #listen() {
    this.#chat.subscribe(() => this.#showChat());
    this.#job.subscribe(() => this.#showJob());
    this.#countdown.subscribe(() => this.#showCountdown());
    this.#chat.onActivity((activity) => this.#showTyping(activity.author));
    this.#find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = this.#find(".text");
      this.#submit(this.#chat, { type: "say", author: this.#name, text: field.value });
      field.value = "";
    });
    this.#find(".text").addEventListener("input", () => {
      // Nobody wants to know later: an action that is submitted without a network is sent when
      // there is one.
      if (!this.#network.isOn || this.#chat.status.kind !== "live" || Date.now() - this.#lastTyped < 2_000) return;
      this.#lastTyped = Date.now();
      this.#submit(this.#chat, { type: "typing", author: this.#name });
    });
    this.#find(".start").addEventListener("click", () => this.#submit(this.#job, { type: "start", steps: STEPS }));
    this.#find(".cancel").addEventListener("click", () => this.#submit(this.#job, { type: "cancel" }));
    for (const [button, action] of [[".count", { type: "start", seconds: SECONDS }], [".stop", { type: "stop" }]]) {
      this.#find(button).addEventListener("click", () => this.#submit(this.#countdown, action));
    }
    // The server counts nothing: it has the time of the end.
    setInterval(() => this.#showCountdown(), 250);
    this.#find(".switch input").addEventListener("change", (event) => {
      this.#network.turn(!event.target.checked);
      this.#node.classList.toggle("offline", event.target.checked);
      this.#client.wake();
      this.#showStatus();
    });
  }

  #submit(session, action) {
    session.submit(action).done.catch((error) => {
      this.#find(".typing").textContent = error.message;
    });
  }

  #showStatus() {
    const waiting = this.#chat.pending + this.#job.pending + this.#countdown.pending;
    const words = this.#network.isOn ? this.#chat.status.kind : "offline";
    this.#find(".status").textContent = waiting > 0 ? `${words}, ${waiting} waiting` : words;
  }

  #showPresent() {
    const { present, count = 0, others = 0 } = this.#chat.presence ?? {};
    const names = present ?? (count ? [`${count} people`] : []);
    const all = others ? [...names, `${others} without a name`] : names;
    this.#find(".present").textContent = all.length ? `Here: ${all.join(", ")}` : "";
  }

  #showChat() {
    this.#showStatus();
    this.#showPresent();
    const state = this.#chat.state;
    if (!state) return;
    const confirmed = this.#chat.confirmed?.count ?? 0;
    const list = this.#find(".messages");
    const rows = state.messages.map(({ number, author, text }) => {
      const row = document.createElement("li");
      const sender = document.createElement("small");
      const isWaiting = number > confirmed;
      sender.textContent = isWaiting ? `${author}, waiting` : author;
      row.classList.toggle("own", author === this.#name);
      row.classList.toggle("waiting", isWaiting);
      row.append(sender, text);
      return row;
    });
    list.replaceChildren(...rows);
    list.scrollTop = list.scrollHeight;
  }

  #showJob() {
    this.#showStatus();
    const state = this.#job.state;
    if (!state) return;
    const bar = this.#find("progress");
    bar.max = Math.max(1, state.steps);
    bar.value = state.progress;
    this.#find(".phase").textContent = state.phase;
  }

  #showCountdown() {
    this.#showStatus();
    const state = this.#countdown.state;
    if (!state) return;
    const left = Math.max(0, Math.ceil((Date.parse(state.endsAt) - Date.now()) / 1_000));
    this.#find(".left").textContent = state.endsAt ? `${left} s` : state.ended ? `${state.ended} ended` : "";
  }

  #showTyping(author) {
    if (author === this.#name) return;
    const place = this.#find(".typing");
    place.textContent = `${author} is typing…`;
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => (place.textContent = ""), 3_000);
  }
}

const [template, place] = [document.getElementById("client"), document.getElementById("clients")];
for (const name of ["Ada", "Grace"]) new Column(name, template, place);
