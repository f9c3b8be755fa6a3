// What the form shows at each step. A view has nodes, what to focus, and what changes every second.
import { codeField } from "./code_field.js";
import { h, icon, safeAddress, sentence } from "./dom.js";
import { shownNumber } from "./phone.js";
import { phoneField } from "./phone_field.js";
import { duration, fill } from "./words.js";

const ERROR_ID = "error";
const CODE_UNTIL_WARNING = 30; // seconds before its end from which on the rest of a code's life is told aloud

export const shownRecipient = (to) => (to.includes("@") ? to : shownNumber(to));

const USUAL_NAMES = { "Voice call": "voice", "E-mail": "by_email" };

/** Return a channel's name. A name that the owner left as it was comes in the form's language. */
export const nameOf = (words, { name }) => words[USUAL_NAMES[name]] ?? name;

export const heading = (text) => h("p", { part: "title", id: "title", tabindex: -1 }, text);

/** The entry of a recipient. `form` has kinds, kind, channels, channel, typed, to, language and region. */
export function entryView(words, form, act) {
  const tiles = form.to || form.kind === "phone" ? channelTiles(words, form) : null;
  const field = form.to ? null : recipientField(words, form);
  const kinds = !form.to && form.kinds.length > 1 ? kindSwitch(words, form, act.chooseKind) : null;
  const label = field && h("div", {}, h("label", { part: "label", for: "to" }, words[form.kind]), field.node);
  const submit = (event) => {
    event.preventDefault();
    const to = form.to || field.value();
    act.send(to, tiles?.querySelector(":checked")?.value ?? (form.channels.length === 1 ? form.channels[0].type : ""));
  };
  const given = form.to && h("p", { part: "text" }, h("bdi", { dir: "ltr", part: "recipient" }, shownRecipient(form.to)));
  return {
    nodes: [
      heading(words.title),
      given,
      h("form", { part: "form", novalidate: true, onsubmit: submit }, kinds, label, tiles, primary(words.send)),
    ],
    focus: field?.input,
    errorAfter: label ?? tiles,
    chosenKind: kinds?.querySelector(":checked"),
    isDoubtful: field?.isDoubtful,
    // The number in full, as the field that it comes back to has another country.
    typed: () => field?.value() || (field?.input.value ?? ""),
  };
}

function recipientField(words, form) {
  const common = { words, language: form.language, region: form.region, value: form.typed, describedBy: ERROR_ID };
  if (form.kind === "phone") return phoneField(common);
  const input = h("input", {
    part: "input",
    id: "to",
    type: "email",
    inputmode: "email",
    autocomplete: "email",
    autocapitalize: "off",
    spellcheck: "false",
    dir: "ltr",
    required: true,
    "aria-describedby": ERROR_ID,
  });
  input.value = form.typed ?? "";
  return { node: h("div", { part: "field" }, input), input, value: () => input.value.trim() };
}

function kindSwitch(words, { kinds, kind }, choose) {
  const option = (each) =>
    h(
      "label",
      { part: "kind" },
      h("input", { type: "radio", name: "kind", value: each, checked: each === kind, onchange: () => choose(each) }),
      words[`by_${each}`],
    );
  return h("fieldset", { "aria-label": words.method }, h("div", { part: "switch" }, ...kinds.map(option)));
}

function channelTiles(words, { channels, channel }) {
  if (channels.length < 2) return null;
  const tile = (each) =>
    h(
      "label",
      { part: "tile" },
      h("input", { type: "radio", name: "channel", value: each.type, checked: each.type === channel }),
      icon(each),
      nameOf(words, each),
    );
  return h(
    "fieldset",
    {},
    h("legend", { part: "label" }, words.channel),
    h("div", { part: "tiles" }, ...channels.map(tile)),
  );
}

/** The entry of the code. Without a code on its way there are only the channels to choose from. */
export function codeView(words, session, settings, act) {
  const to = shownRecipient(session.to);
  const ways = channelWays(words, session, act);
  const change = act.change && h("button", { part: "link", type: "button", onclick: act.change }, words.change);
  if (!session.channel) {
    const text = h("p", { part: "text" }, ...sentence(words.not_sent, to), " ", change);
    return { nodes: [heading(words.title), text, ways.node], tick: ways.tick, focus: null, errorAfter: text };
  }
  const field = codeField({ words, settings, describedBy: ERROR_ID, onFull: (code) => act.check(code) });
  const valid = h("span", { part: "valid" });
  const submit = (event) => {
    event.preventDefault();
    act.check(field.input.value);
  };
  const sent = session.channelOf(session.channel);
  return {
    nodes: [
      heading(words.title_code),
      h("p", { part: "text" }, ...sentence(words.sent, to)),
      h("p", { part: "by" }, sent && icon(sent), sent && nameOf(words, sent), change),
      session.note && h("p", { part: "note" }, session.note),
      h(
        "form",
        { part: "form", novalidate: true, onsubmit: submit },
        h("div", { part: "row" }, field.node, valid),
        primary(words.confirm),
      ),
      ways.node,
    ],
    field,
    errorAfter: field.node,
    focus: field.input,
    tick(hear) {
      const left = Math.floor(session.secondsLeft()); // the service's clock is told in whole seconds, so up to one is too many
      valid.textContent = fill(words.valid, { time: duration(left) });
      if (left === CODE_UNTIL_WARNING) hear(valid.textContent);
      ways.tick(hear);
    },
  };
}

/** The way into a messenger's bot, until the user has started it. */
export function botView(words, session, type, act) {
  const channel = session.channelOf(type);
  const ways = channelWays(words, session, act, type);
  const open = h(
    "a",
    { part: "button", href: safeAddress(channel.link), target: "_blank", rel: "noopener noreferrer" },
    fill(words.open, { channel: channel.name }),
  );
  return {
    nodes: [
      heading(fill(words.title_bot, { channel: channel.name })),
      h("p", { part: "text" }, words.bot),
      h("form", { part: "form" }, open, h("p", { part: "waiting" }, words.waiting)),
      ways.node,
    ],
    focus: open,
    tick: ways.tick,
  };
}

/** The channels by which the code can come, each with the time until it may be used. */
function channelWays(words, session, act, without) {
  const others = session.channels.filter(({ type }) => type !== without);
  // Those that failed come last, so that the next way is the first.
  const channels = [...others].sort((one, two) => session.failed.has(one.type) - session.failed.has(two.type));
  const rows = channels.map((channel) => {
    const state = h("span", { part: "way-state" });
    const isBot = !channel.is_active;
    const name = h("span", { part: "way-name" }, nameOf(words, channel));
    const choose = () => {
      if (button.ariaDisabled === "true") return;
      if (isBot) act.openBot(channel.type);
      else act.resend(channel.type);
    };
    const button = h("button", { part: "way", type: "button", onclick: choose }, icon(channel), name, state);
    let wasBlocked = false;
    const tick = (hear) => {
      const left = session.secondsBlocked(channel.type);
      const word = channel.type === session.channel ? words.again : words.send;
      button.ariaDisabled = String(left > 0);
      state.textContent = left ? fill(words.again_in, { time: duration(left) }) : word;
      if (wasBlocked && !left) hear(`${nameOf(words, channel)}: ${word}`);
      wasBlocked = left > 0;
    };
    return { node: h("li", {}, button), tick };
  });
  const node =
    rows.length > 0 &&
    h(
      "div",
      { part: "ways" },
      h("p", { part: "label" }, session.channel ? words.no_code : words.channel),
      h("ul", {}, ...rows.map((row) => row.node)),
    );
  return { node, tick: (hear) => rows.forEach((row) => row.tick(hear)) };
}

const CHECK_MARK = "M5 13l4.5 4.5L19 7.5";

export const verifiedView = (words, session) => doneView(words.verified, session);
export const elsewhereView = (words) => doneView(words.elsewhere, null);

function doneView(text, session) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const stroke = { fill: "none", stroke: "currentColor", "stroke-width": 2.5, "stroke-linecap": "round", "stroke-linejoin": "round" };
  for (const [name, value] of Object.entries({ d: CHECK_MARK, ...stroke })) path.setAttribute(name, value);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.append(path);
  const title = heading(text);
  const to = session && h("p", { part: "text" }, h("bdi", { dir: "ltr", part: "recipient" }, shownRecipient(session.to)));
  return { nodes: [h("div", { part: "result" }, h("span", { part: "mark", "aria-hidden": "true" }, svg), title, to)], focus: title };
}

/** The end of a session that was not verified, or a failure before there is one; `again` leads on. */
export function overView(words, label, again) {
  const submit = (event) => {
    event.preventDefault();
    again();
  };
  const title = heading(words.title);
  return { nodes: [title, h("form", { part: "form", onsubmit: submit }, primary(label))], focus: null, errorAfter: title };
}

export const loadingView = (words) => ({
  nodes: [heading(words.title), h("form", { "aria-hidden": "true" }, h("div", { part: "loading" }), h("div", { part: "loading" }))],
});

const primary = (text) => h("button", { part: "button", type: "submit" }, text);
