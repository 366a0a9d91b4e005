// Asks the server for news again and again while something trains, and sends commands.
//
// Only one message is under way at a time, and commands go before requests: while the server is busy, a newer message
// of the same component replaces an older one that it has not read yet. A lost request is sent again. A command must
// not get lost, so nothing is sent after it until a pack with its number has come.

const PAUSE = 200; // milliseconds between an answer and the next request
const PATIENCE = 3000; // milliseconds after which no answer is expected any more

export class Poller {
  /** @type {any} */ have;
  /** @type {any} */ more;
  /** @type {any} */ send;
  /** @type {any} */ wanted;
  // send(name, value); wanted(): whether there is something to ask for, or to tell; have(): of the store; more(): what
  // every message tells
  constructor({ send, wanted, have, more = () => ({}) }) {
    Object.assign(this, { send, wanted, have, more });
    this.number = Date.now(); // rises with every mount, too
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

  // There is something to tell.
  nudge() {
    if (!this.inFlight && !this.stopped) this.next();
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
    this.send(name, { ...value, ...this.more(), have: this.have(), n: this.number });
  }

  // A pack has come. number: of the message it answers, 0: none; atOnce: whether it leaves something to ask for.
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
