// The session under way: until when it lives, which channels are blocked, and what outlives a reload of the page.

const LIFE_SECONDS = 180; // of a session, until the service has told its end
const LONGEST_SECONDS = 900; // that the service lets a project's sessions live

/** Return seconds that only go forward, whatever is done to the device's clock. */
export const now = () => performance.now() / 1000;

export class Session {
  constructor({ id, to, channel, expiresAt, ways, failed }) {
    Object.assign(this, { id, to, channel, expiresAt, channels: [], blockedUntil: {} });
    this.ways = ways ?? (channel ? [channel] : []); // those of the sends that have not failed, the last one last
    this.failed = new Set(failed); // the channels whose last send failed
    this.doubted = ""; // the channel whose send was seen to fail, until that is told
    this.note = ""; // why the code comes over this channel, where the user did not ask for it
    this.sentAt = now();
    this.endsAt = now() + LIFE_SECONDS;
  }

  /** Take over the service's own time: seconds are counted from it, so that a wrong clock here changes nothing. */
  setClock(serverMs) {
    const left = (Date.parse(this.expiresAt) - serverMs) / 1000;
    if (Number.isFinite(left)) this.endsAt = now() + Math.min(Math.max(left, 0), LONGEST_SECONDS);
  }

  /** Take over the channels as the service tells them. */
  setChannels(channels) {
    this.channels = channels;
    for (const channel of channels) this.#block(channel);
  }

  /** Take over one channel, after a send over it. */
  setChannel(channel) {
    this.channels = this.channels.map((each) => (each.type === channel.type ? channel : each));
    this.#block(channel);
  }

  #block({ type, timeout }) {
    this.blockedUntil[type] = now() + timeout;
  }

  /** The code goes out over this channel from now on. */
  goOver(type) {
    this.channel = type;
    this.note = this.doubted = "";
    this.ways.push(type);
    this.failed.delete(type);
    this.sentAt = now();
  }

  /** Go back to the send before the one that failed, or to none. */
  giveUp() {
    this.failed.add(this.ways.pop());
    this.channel = this.ways.at(-1) ?? "";
  }

  /** Whether the form knows that the code was sent over this channel. */
  knows(type) {
    return this.ways.includes(type) || this.failed.has(type);
  }

  channelOf(type) {
    return this.channels.find((channel) => channel.type === type);
  }

  secondsLeft() {
    return Math.max(0, this.endsAt - now());
  }

  secondsBlocked(type) {
    return Math.max(0, Math.ceil((this.blockedUntil[type] ?? 0) - now()));
  }

  /** Return what a reload needs. Neither code nor token is among it. */
  kept() {
    const { id, to, channel, expiresAt, ways, failed } = this;
    return { id, to, channel, expiresAt, ways, failed: [...failed] };
  }
}

/** The forms of this origin's other windows, which learn at once that a session was verified here. */
export class Windows {
  /** `heard` is called with the id of a session that was verified in another window. */
  constructor(name, heard, signal) {
    if (!("BroadcastChannel" in globalThis)) return;
    this.channel = new BroadcastChannel(`watchword-verify:${name}`);
    this.channel.onmessage = ({ data }) => heard(data);
    signal.addEventListener("abort", () => this.channel.close());
  }

  tell(id) {
    this.channel?.postMessage(id);
  }
}

/** The place for one form's session in this tab. A browser that keeps nothing only loses the form's state at a reload. */
export class Keep {
  constructor(name) {
    this.name = `watchword-verify:${name}`;
  }

  read() {
    return attempt(() => JSON.parse(sessionStorage.getItem(this.name)));
  }

  /** Keep the session, and the messenger whose bot is awaited. */
  write(session, awaited = "") {
    attempt(() => sessionStorage.setItem(this.name, JSON.stringify({ ...session.kept(), awaited })));
  }

  clear() {
    attempt(() => sessionStorage.removeItem(this.name));
  }
}

const CHANNEL = "watchword-verify:channel";

/** Return the channel by which the last verification on this device came about. */
export const lastChannel = () => attempt(() => localStorage.getItem(CHANNEL));
export const rememberChannel = (type) => attempt(() => localStorage.setItem(CHANNEL, type));

function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}
