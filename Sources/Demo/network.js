// A network for one client. While it is off, `fetch` fails. Switching it off aborts requests.

export class Network {
  isOn = true;
  #under = new Set();

  fetch = async (request, options = {}) => {
    if (!this.isOn) throw new TypeError("this client is offline");
    const controller = new AbortController();
    const stop = () => {
      controller.abort(options.signal?.reason);
      this.#under.delete(controller); // The client aborts each request when it is done.
    };
    if (options.signal?.aborted) stop();
    options.signal?.addEventListener("abort", stop);
    this.#under.add(controller);
    return await fetch(request, { ...options, signal: controller.signal });
  };

  turn(isOn) {
    this.isOn = isOn;
    if (isOn) return;
    for (const controller of this.#under) controller.abort(new TypeError("this client is offline"));
    this.#under.clear();
  }
}
