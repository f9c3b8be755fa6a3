// The way from a recipient to the verify token: which step follows which answer.
import { Problem } from "./service.js";
import { now, lastChannel, rememberChannel, Session, Windows } from "./session.js";
import { botView, codeView, elsewhereView, entryView, loadingView, nameOf, overView, verifiedView } from "./views.js";
import { fill, tell, tellMoved, tellUnsent } from "./words.js";

const BOT_POLL_SECONDS = 3; // a user who comes back from a messenger waits no longer
const POLL_SECONDS = 10; // to see that a message failed, or that the session was verified elsewhere
const FIRST_POLL_SECONDS = 3; // while a code is on its way: most of those that fail have failed by then
const FALLBACK_SECONDS = 1; // within which a project sends a code that failed over its next channel
const ENDED = new Set(["session_expired", "session_not_found", "session_verified"]);
const IS_EMAIL = /^[^\s@]+@[^\s@]+$/;
const IS_NUMBER = /^\+\d{7,15}$/;

export class Flow {
  #step = "loading";
  #isBusy = false;
  #session = null;
  #project = []; // the project's channels
  #settings = null;
  #form = null;
  #typed = {}; // what stands in the field of each kind
  #polledAt = 0;
  #pause = POLL_SECONDS;
  #awaited = ""; // the messenger whose bot the user is to start
  #otp = null;
  #waiting = null; // a whole code that came while another call was under way

  constructor(given) {
    Object.assign(this, given);
    const { gone: signal } = given;
    this.windows = new Windows(this.service.base, (id) => this.#seeElsewhere(id), signal);
    const look = () => document.visibilityState === "visible" && this.#poll(true);
    document.addEventListener("visibilitychange", look, { signal });
    window.addEventListener("online", () => this.#cameOnline(), { signal });
    window.addEventListener("pageshow", (event) => event.persisted && this.#cameBack(), { signal });
    const timer = setInterval(() => this.#second(), 1_000);
    signal.addEventListener("abort", () => (clearInterval(timer), this.#otp?.abort()));
  }

  attribute(name) {
    return this.element.getAttribute(name) ?? "";
  }

  /** Forget the session, here and for a reload. */
  forget() {
    this.#waiting = null;
    this.keep.clear();
    this.#session = null;
  }

  /** Load what the project is, and go on with the session of this tab, if one is alive. */
  async start() {
    this.#step = "loading";
    this.shell.show(loadingView(this.words), { isMoved: false });
    await this.#run(async () => {
      if (!this.attribute("api-key")) throw new Problem("missing_api_key");
      const [settings, channels] = await Promise.all([this.service.settings(), this.service.channels()]);
      this.#settings = settings.answer;
      this.#project = channels.answer;
      if (!(await this.#resume())) this.#showEntry(false);
    });
  }

  async #resume() {
    const kept = this.keep.read();
    const given = this.attribute("to");
    if (!kept?.id || !kept.to || (given && given !== kept.to)) return false;
    const session = new Session(kept);
    try {
      await this.#read(session);
    } catch (problem) {
      if (problem.code === "network") throw problem;
      this.keep.clear();
      return false;
    }
    this.#session = session;
    const awaited = session.channelOf(kept.awaited);
    if (awaited?.is_active) session.goOver(awaited.type); // the bot was started meanwhile
    if (awaited && !awaited.is_active) this.#showBot(awaited.type, false);
    else this.#showCode(false);
    return true;
  }

  /** Ask the service how the session stands. */
  async #read(session) {
    const [settings, channels] = await Promise.all([this.service.settings(session.id), this.service.channels(session.id)]);
    session.setClock(settings.date);
    session.setChannels(channels.answer);
    session.code = settings.answer.code;
  }

  // --- the steps -----------------------------------------------------------------------------------------------------

  #showEntry(isMoved = true) {
    this.#step = "entry";
    this.#awaited = "";
    const to = this.attribute("to");
    const has = { phone: this.#project.some(isForPhones), email: this.#project.some((each) => !isForPhones(each)) };
    const only = to ? (to.includes("@") ? "email" : "phone") : this.attribute("kind");
    const kinds = ["phone", "email"].filter((kind) => has[kind] && (!has[only] || kind === only));
    const kind = kinds.includes(this.#form?.kind) ? this.#form.kind : (kinds[0] ?? "email");
    const channels = this.#project.filter((each) => isForPhones(each) === (kind === "phone"));
    const wanted = [this.attribute("channel"), lastChannel()].find((type) => channels.some((each) => each.type === type));
    const channel = wanted ?? channels[0]?.type;
    const typed = this.#typed[kind] ?? "";
    this.#form = { kinds, kind, to, channels, channel, typed, language: this.language, region: this.#region() };
    const view = entryView(this.words, this.#form, {
      send: (recipient, channel) => this.#send(recipient, channel),
      chooseKind: (next) => {
        this.#typed[kind] = this.shell.view().typed();
        this.#form.kind = next;
        this.#showEntry(false);
        this.shell.view().chosenKind.focus(); // so that the arrow keys go on from there
      },
    });
    this.shell.show(view, { isMoved });
    if (!kinds.length) this.shell.refuse(this.words.e_channel);
  }

  #region() {
    const given = this.attribute("country").toUpperCase();
    if (given) return given;
    for (const tag of navigator.languages) {
      const { region } = new Intl.Locale(tag).maximize();
      if (region) return region;
    }
    return "US";
  }

  #showCode(isMoved = true) {
    this.#step = "code";
    this.#awaited = "";
    this.#polledAt = now();
    this.keep.write(this.#session);
    this.shell.show(codeView(this.words, this.#session, this.#session.code ?? this.#settings.code, this.#acts()), { isMoved });
    this.#readSms();
  }

  #showBot(type, isMoved = true) {
    this.#step = "bot";
    this.#awaited = type;
    this.#polledAt = now();
    this.keep.write(this.#session, type);
    this.shell.show(botView(this.words, this.#session, type, this.#acts()), { isMoved });
  }

  #showOver(problem) {
    const kind = this.#kind();
    this.forget();
    this.#step = "over";
    this.#otp?.abort();
    this.shell.show(overView(this.words, this.words.restart, () => this.#showEntry()));
    this.shell.refuse(tell(this.words, problem, kind));
  }

  #acts() {
    return {
      change: this.attribute("to") ? null : () => this.#isBusy || (this.forget(), this.#showEntry()),
      check: (code) => this.#check(code),
      resend: (type) => this.#resend(type),
      openBot: (type) => this.#showBot(type),
    };
  }

  // --- what the user does ---------------------------------------------------------------------------------------------

  #send(to, channel) {
    const kind = this.#kind();
    this.#typed[kind] = this.shell.view().typed();
    if (!(kind === "email" ? IS_EMAIL : IS_NUMBER).test(to)) {
      const sentence = this.words[`e_${kind}`];
      this.shell.refuse(this.shell.view().isDoubtful?.() ? `${sentence} ${this.words.e_doubt}` : sentence, true);
      this.shell.view().focus?.focus();
      return;
    }
    this.#run(async () => {
      const body = channel ? { to, type: channel } : { to };
      const { answer, date } = await this.shell.call((it) => this.service.create(it), body, this.#settings.challenge);
      const session = new Session({ id: answer.session_id, to, channel: answer.sent_to, expiresAt: answer.session_expired_at });
      session.setClock(date);
      session.setChannels(answer.channels);
      // A test login's code may have another form than the project's.
      const settings = await this.service.settings(session.id).catch(() => null);
      session.code = settings?.answer.code;
      this.#session = session;
      const chosen = session.channelOf(channel);
      if (!session.channel && chosen && !chosen.is_active) return this.#showBot(channel);
      this.#showCode();
      if (session.channel) this.#tellSent(session.channel);
    });
  }

  #resend(type) {
    this.#run(async () => {
      const body = { session_id: this.#session.id, type };
      const { answer, date } = await this.shell.call((it) => this.service.send(it), body, this.#settings.challenge);
      const session = this.#session;
      session.setClock(date);
      session.setChannel(answer.channel);
      session.goOver(type);
      this.#showCode();
      this.#tellSent(type);
    });
  }

  #tellSent(channel, text = fill(this.words.sent, { to: this.#session.to })) {
    this.#pause = FIRST_POLL_SECONDS;
    this.shell.hear(text);
    this.shell.emit("sent", { channel, session_expired_at: this.#session.expiresAt });
  }

  #check(code) {
    this.#waiting = this.#isBusy ? code : null;
    if (this.#isBusy) return;
    const { length } = this.#session.code ?? this.#settings.code;
    if (code.length !== length) {
      this.shell.refuse(fill(this.words.e_length, { n: length }), true);
      this.shell.view().focus?.focus();
      return;
    }
    this.#run(async () => {
      const { answer } = await this.service.check({ session_id: this.#session.id, code });
      const session = this.#session;
      this.windows.tell(session.id);
      this.forget();
      this.#step = "verified";
      this.#otp?.abort();
      if (session.channel) rememberChannel(session.channel);
      this.shell.show(verifiedView(this.words, session));
      this.shell.hear(this.words.verified);
      this.shell.emit("verified", answer);
    });
  }

  /** Do one thing at a time. Its failure is told in words and as an event. */
  async #run(act) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.shell.busy(true);
    this.shell.refuse("");
    try {
      await act();
    } catch (problem) {
      if (!this.gone.aborted) this.#fail(problem);
    } finally {
      this.#isBusy = false;
      this.shell.busy(false);
      if (this.#waiting && this.#step === "code" && !this.gone.aborted) this.#check(this.#waiting);
    }
  }

  #fail(problem) {
    const { code, detail, retry_after, attempts_left, request_id } = problem;
    if (!code) console.error(problem);
    const isOver = ENDED.has(code) || code === "too_many_attempts" || attempts_left === 0;
    if (this.#step === "loading") {
      this.#step = "failed";
      this.shell.show(overView(this.words, this.words.retry, () => this.start()), { isMoved: false });
      this.shell.refuse(tell(this.words, problem, "phone"));
    } else if (this.#session && isOver) {
      this.#showOver(attempts_left === 0 ? { code: "too_many_attempts" } : problem);
    } else {
      const field = code === "invalid_code" ? this.shell.view().field : null;
      const isField = Boolean(field) || code === "validation_error" || code === "recipient_not_allowed";
      this.shell.refuse(tell(this.words, problem, this.#kind()), isField);
      field?.refuse();
      if (isField) this.shell.view().focus?.focus();
    }
    this.shell.emit("error", { code: code ?? "internal_error", detail, retry_after, attempts_left, request_id });
    if (code === "session_expired") this.shell.emit("expired", {});
    if (code === "channel_timeout" || code === "channel_not_active") this.#poll(true);
  }

  #kind() {
    const to = this.#session?.to ?? this.attribute("to");
    if (to) return to.includes("@") ? "email" : "phone";
    return this.#form?.kind ?? "phone";
  }

  // --- what happens by itself -----------------------------------------------------------------------------------------

  #second() {
    if (!this.#session || !["code", "bot"].includes(this.#step) || this.#isBusy) return;
    if (this.#session.secondsLeft() <= 0) {
      this.#showOver({ code: "session_expired" });
      this.shell.emit("expired", {});
      return;
    }
    const pause = this.#step === "bot" ? BOT_POLL_SECONDS : this.#pause;
    if (document.visibilityState === "visible" && now() - this.#polledAt >= pause) this.#poll();
  }

  /** Look how the session stands; a look that fails is repeated later and told to nobody. */
  async #poll(isFull = false) {
    const session = this.#session;
    if (!session || !["code", "bot"].includes(this.#step)) return;
    this.#polledAt = now();
    this.#pause = POLL_SECONDS;
    let delivery;
    try {
      const look = isFull ? this.#read(session) : this.service.channels(session.id);
      [delivery] = await Promise.all([this.service.delivery(session.id), look]);
      if (!isFull) session.setChannels((await look).answer);
    } catch (problem) {
      if (session === this.#session && ENDED.has(problem.code) && !this.#isBusy) this.#fail(problem);
      return;
    }
    if (session !== this.#session) return;
    if (this.#step === "bot") this.#seeBot();
    else if (!this.#isBusy && delivery.asked > session.sentAt) this.#seeDelivery(delivery.answer.channels);
  }

  /** Take back that a code was sent, where it was not, and tell over which channel the project sent it by itself. */
  #seeDelivery(ways) {
    const session = this.#session;
    const before = session.channel;
    const status = ways.find(({ channel }) => channel === before)?.status;
    if (status === "pending") this.#pause = FIRST_POLL_SECONDS;
    const isUnsent = status === "failed" && !session.failed.has(before);
    const unsent = isUnsent ? before : before ? "" : [...session.failed].at(-1);
    const taken = ways.filter(({ channel, status }) => status !== "failed" && !session.knows(channel));
    if (isUnsent && !taken.length && session.doubted !== before) {
      session.doubted = before; // the project may be sending it over its next channel: look once more, then tell
      this.#pause = FALLBACK_SECONDS;
      return;
    }
    if (isUnsent) session.giveUp();
    for (const { channel } of taken) session.goOver(channel);
    const name = (type) => nameOf(this.words, session.channelOf(type) ?? { name: type });
    if (taken.length) {
      session.note = tellMoved(this.words, name(session.channel), unsent && name(unsent));
      this.#showCodeAnew();
      this.#tellSent(session.channel, session.note);
    } else if (isUnsent) {
      if (session.channel !== before) this.#showCodeAnew();
      this.#pause = FIRST_POLL_SECONDS; // the project may be late
      this.shell.hear("");
      this.shell.refuse(tellUnsent(this.words, name(before), session.channels.length > 1));
      this.shell.emit("error", { code: "not_sent", channel: before });
    }
  }

  /** Show the code's entry anew while the user may be typing: what is typed stays. */
  #showCodeAnew() {
    const { input } = this.shell.view().field ?? {};
    const isTyping = Boolean(input) && input.getRootNode().activeElement === input;
    this.#showCode(isTyping);
    if (input?.value) this.shell.view().field?.fill(input.value);
  }

  /** Go on once the user has started the bot: its code is on the way. */
  #seeBot() {
    const type = this.#awaited;
    if (!this.#session.channelOf(type)?.is_active) return;
    this.#session.goOver(type);
    this.#showCode();
    this.#tellSent(type);
  }

  /** The session was verified in another window of this browser, which has the token. */
  #seeElsewhere(id) {
    if (!this.#session || this.#session.id !== id) return;
    this.forget();
    this.#step = "verified";
    this.#otp?.abort();
    this.shell.show(elsewhereView(this.words), { isMoved: false });
    this.shell.hear(this.words.elsewhere);
    this.shell.emit("elsewhere", {});
  }

  #cameOnline() {
    if (this.#step === "failed") this.start();
    else this.#poll(true);
  }

  /** The page was left and comes back from the browser's memory: what it shows may be long over. */
  #cameBack() {
    if (this.#step === "verified") this.#showEntry(false);
    else this.#poll(true);
  }

  /** Let the browser hand over the code of an SMS, where it can. */
  async #readSms() {
    this.#otp?.abort();
    if (this.#session.channel !== "sms" || !("OTPCredential" in window)) return;
    this.#otp = new AbortController();
    const { signal } = this.#otp;
    try {
      const found = await navigator.credentials.get({ otp: { transport: ["sms"] }, signal });
      if (this.#step === "code" && found) this.shell.view().field?.set(found.code);
    } catch {
      // The user types it.
    }
  }
}

const isForPhones = ({ type }) => type !== "email";
