// Asks the page for what is new, again and again while something trains, and hands commands over.
//
// One message is on its way at a time, and commands go before asks: while the server is busy a newer message of the
// same component takes the place of an older one that it has not seen yet. A lost ask is asked again; a command must
// not get lost, so nothing is sent behind it before a pack with its number has come.

const PAUSE = 200; // milliseconds between an answer and the next ask
const PATIENCE = 3000; // milliseconds after which no answer comes any more

export class Poller {
  /** @type {any} */ have;
  /** @type {any} */ send;
  /** @type {any} */ wanted;
  // send(name, value); wanted(): whether there is something to ask for; have(): of the store
  constructor({ send, wanted, have }) {
    Object.assign(this, { send, wanted, have });
    this.number = Date.now(); // rises over every remounting, too
    this.inFlight = null; // {number, command}
    this.commands = [];
    this.timer = null;
  }

  stop() {
    clearTimeout(this.timer);
    this.stopped = true;
  }

  ask() {
    this.post("ask", {});
  }

  command(run, what) {
    this.commands.push({ run, do: what });
    if (!this.inFlight || !this.inFlight.command) this.next();
  }

  next() {
    const command = this.commands.shift();
    if (command) this.post("command", command);
    else if (this.wanted()) this.ask();
  }

  post(name, value) {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.number += 1;
    this.inFlight = { number: this.number, command: name === "command" };
    this.timer = setTimeout(() => {
      this.inFlight = null;
      this.next();
    }, PATIENCE);
    this.send(name, { ...value, have: this.have(), n: this.number });
  }

  // A pack has come. number: of the message it answers, 0: none; atOnce: whether it left something to ask for.
  answered(number, atOnce) {
    const waits = this.inFlight;
    if (waits && number !== waits.number) return;
    this.inFlight = null;
    clearTimeout(this.timer);
    if (this.stopped) return;
    if (this.commands.length || (atOnce && this.wanted())) this.next();
    else if (this.wanted()) this.timer = setTimeout(() => this.next(), PAUSE);
  }
}
