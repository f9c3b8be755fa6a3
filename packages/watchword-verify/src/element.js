// <watchword-verify>: a form that lets a user prove a phone number or an e-mail address, on the page of a customer.
import { solve, withChallenge } from "./challenge.js";
import { h } from "./dom.js";
import { Flow } from "./flow.js";
import { Service } from "./service.js";
import { Keep } from "./session.js";
import STYLES from "./styles.css";
import { chooseLanguage, directionOf, loadWords } from "./words.js";

const HERE = import.meta.url;
const WORKING_MS = 4_000; // of waiting, after which the user is told that it goes on
const TICK_MS = 500; // so that no second of a countdown is skipped

const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLES);

export class WatchwordVerify extends HTMLElement {
  static observedAttributes = ["service", "api-key", "to", "kind", "channel", "country", "language"];

  #card = h("div", { part: "card", role: "group", "aria-labelledby": "title" });
  #body = h("div");
  #error = h("p", { part: "error", id: "error", role: "alert" });
  #status = h("p", { class: "heard", role: "status" });
  #view = null;
  #flow = null;
  #gone = null; // aborts what is under way when the element leaves the page or starts anew
  #isQueued = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    root.adoptedStyleSheets = [sheet];
    this.#card.append(this.#body, h("slot", { name: "challenge" }), this.#status);
    root.append(this.#card);
  }

  connectedCallback() {
    this.#restart();
  }

  disconnectedCallback() {
    this.#gone?.abort();
  }

  /** Attributes that change together, as frameworks set them, start the form anew once. */
  attributeChangedCallback(name, before, after) {
    if (before === after || !this.#gone || this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      if (this.isConnected) this.#restart();
    });
  }

  /** Forget the session and show the entry again. */
  reset() {
    this.#flow?.forget();
    if (this.isConnected) this.#restart();
  }

  async #restart() {
    this.#gone?.abort();
    const gone = (this.#gone = new AbortController());
    const tags = [this.getAttribute("language"), document.documentElement.lang, ...navigator.languages];
    const language = chooseLanguage(tags);
    this.#card.lang = language;
    this.#card.dir = directionOf(language);
    const words = await loadWords(language, new URL("languages/", this.getAttribute("languages") ?? HERE));
    if (gone.signal.aborted) return;
    const base = this.getAttribute("service") ?? new URL(HERE).origin;
    const service = new Service(base, this.getAttribute("api-key") ?? "", () => language);
    const keep = new Keep(`${base} ${this.id}`);
    const shell = this.#shell(words, language, gone.signal);
    this.#flow = new Flow({ element: this, service, keep, words, language, gone: gone.signal, shell });
    const timer = setInterval(() => this.#view?.tick?.(this.#hear), TICK_MS);
    gone.signal.addEventListener("abort", () => clearInterval(timer));
    await this.#flow.start();
  }

  /** What a flow may do to the form. One that is gone does nothing more, whatever it still waited for. */
  #shell(words, language, gone) {
    const unlessGone = (act) => (...given) => gone.aborted || act(...given);
    return {
      show: unlessGone((view, { isMoved = true } = {}) => this.#show(view, isMoved)),
      view: () => this.#view,
      hear: unlessGone(this.#hear),
      refuse: unlessGone((text, isField) => this.#refuse(text, isField)),
      busy: unlessGone((isBusy) => this.#busy(isBusy, words)),
      emit: unlessGone((name, detail) => this.dispatchEvent(new CustomEvent(name, { detail }))),
      call: (call, body, known) =>
        withChallenge(call, body, known, (challenge) => {
          this.#hear(words.challenge);
          return solve(challenge, this, { theme: this.#theme(), language, isGone: gone });
        }),
    };
  }

  /** Show a view. Unless the page has only just loaded, the focus follows, so that it is read out. */
  #show(view, isMoved) {
    this.#view = view;
    this.#refuse("");
    this.#body.replaceChildren(...view.nodes.filter(Boolean));
    (view.errorAfter ?? this.#body.lastChild).after(this.#error);
    view.tick?.(this.#hear);
    if (isMoved) (view.focus ?? this.#body.querySelector("#title"))?.focus({ preventScroll: false });
  }

  #hear = (text) => {
    this.#status.textContent = text;
  };

  #refuse(text, isField = false) {
    this.#error.textContent = text;
    this.#body.classList.toggle("invalid", isField);
    for (const input of this.#body.querySelectorAll("#to, #code")) input.ariaInvalid = String(isField);
  }

  #workingTimer = 0;

  #busy(isBusy, words) {
    this.#card.setAttribute("aria-busy", String(isBusy));
    clearTimeout(this.#workingTimer);
    if (isBusy) this.#workingTimer = setTimeout(() => this.#hear(words.working), WORKING_MS);
  }

  #theme() {
    const dark = getComputedStyle(this.#card).getPropertyValue("color-scheme");
    if (/^(light|dark)$/.test(dark)) return dark;
    return dark.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
}

