// The editor of message texts: counts the SMS and shows the message while it is typed. The server counts alike
// (verification/services/texts/sizes.py); a table of cases holds both together. Without this script there is the button.
const PAUSE_MS = 300; // after the last key, before the server is asked for what it finds

// A sentence with its values in the places of their names.
function say(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function isShort(character, alphabet) {
  return alphabet.basic.includes(character) || alphabet.extension.includes(character);
}

function replacement(character, alphabet) {
  if (Object.hasOwn(alphabet.replacements, character)) return alphabet.replacements[character];
  const bare = character.normalize("NFKD").replace(/\p{Mn}/gu, "");
  if (bare && bare !== character && [...bare].every((each) => isShort(each, alphabet))) return bare;
  if (/\p{Zs}/u.test(character)) return " ";
  const point = character.codePointAt(0);
  const isPicture = (point >= alphabet.emoji[0] && point < alphabet.emoji[1]) || /[\ufe00-\ufe0f]/.test(character);
  return isPicture || /[\p{S}\p{Cf}\p{Me}]/u.test(character) ? "" : null;
}

function parts(characters, isGsm, alphabet) {
  const [single, part] = alphabet.limits[isGsm ? "gsm7" : "ucs2"];
  const costs = characters.map((each) => (isGsm ? (alphabet.extension.includes(each) ? 2 : 1) : each.length));
  const length = costs.reduce((sum, cost) => sum + cost, 0);
  if (length <= single) return { length, found: [characters.join("")] };
  const found = [];
  let used = part;
  characters.forEach((each, index) => {
    if (used + costs[index] > part) { found.push(""); used = 0; }
    found[found.length - 1] += each;
    used += costs[index];
  });
  return { length, found };
}

function measure(text, alphabet) {
  const characters = [...text];
  const wide = [...new Set(characters.filter((each) => !isShort(each, alphabet)))];
  const { length, found } = parts(characters, !wide.length, alphabet);
  const [single, part] = alphabet.limits[wide.length ? "ucs2" : "gsm7"];
  const number = found.length;
  const most = number === 1 ? single : number * part;
  const words = alphabet.words;
  const line = say(words.line, { number, length, most, alphabet: wide.length ? "UCS-2" : "GSM-7" });
  const told = { segments: number, line, note: "", parts: found, remedies: {} };
  if (!wide.length) {
    const doubles = [...new Set(characters.filter((each) => alphabet.extension.includes(each)))];
    const halved = characters.map((each) => (doubles.includes(each) ? " " : each));
    const isCostly = parts(halved, true, alphabet).found.length < number;
    return isCostly ? { ...told, note: say(words.doubles, { names: doubles.join(" ") }) } : told;
  }
  const remedies = Object.fromEntries(wide.map((each) => [each, replacement(each, alphabet)]));
  if (Object.values(remedies).includes(null)) {
    if (number === 1) return told;
    const [ucs2_single, gsm7_single] = [alphabet.limits.ucs2[0], alphabet.limits.gsm7[0]];
    return { ...told, note: say(words.letters, { ucs2_single, gsm7_single }) };
  }
  const plain = [...characters.map((each) => remedies[each] ?? each).join("")];
  const without = parts(plain, plain.every((each) => isShort(each, alphabet)), alphabet).found.length;
  if (without >= number) return told;
  const named = wide.slice(0, alphabet.named).filter((each) => !/[\p{C}\p{Z}]/u.test(each)).join(" ");
  const value = say(words.wide, { value: named || words.invisible });
  const note = say(words.without, { told: value, segments: without });
  return { ...told, note, remedies };
}

function fill(text, values) {
  return text.replace(/\{(code|project|minutes)\}/g, (_, name) => values[name]);
}

// The message with its costly characters marked, and a line where the next SMS begins.
function marked(size) {
  const whole = document.createDocumentFragment();
  size.parts.forEach((part, index) => {
    if (index) {
      const next = document.createElement("span");
      next.className = "ww-next-sms";
      next.textContent = `SMS ${index + 1}`;
      whole.append(next);
    }
    for (const each of part) {
      if (!Object.hasOwn(size.remedies, each)) { whole.append(each); continue; }
      const mark = document.createElement("mark");
      mark.textContent = each;
      whole.append(mark);
    }
  });
  whole.normalize();
  return whole;
}

class Editor {
  constructor(root) {
    this.root = root;
    this.form = root.closest("form");
    this.text = root.querySelector("textarea");
    this.facts = JSON.parse(root.querySelector("[type='application/json']").textContent);
    this.turn = 0;
    this.form.addEventListener("input", () => this.typed());
    root.addEventListener("click", (event) => this.clicked(event));
    root.querySelector("[data-preview]")?.setAttribute("hidden", "");
    root.querySelector("[data-pieces]")?.removeAttribute("hidden");
    this.offer();
  }

  get channel() {
    return this.form.elements.channel?.value ?? this.facts.channel;
  }

  typed() {
    this.turn++; // an answer that is still under way is about an older text
    this.count();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), PAUSE_MS);
  }

  // What needs no server: an SMS is counted and shown at once.
  count() {
    if (this.channel !== "sms" || !this.facts.values) return;
    const size = measure(fill(this.text.value, this.facts.values) + this.facts.tail, this.facts.alphabet);
    const [line, note, words] = ["line", "note", "words"].map((name) => this.root.querySelector(`[data-size="${name}"]`));
    if (!line) return;
    line.textContent = size.line;
    note.textContent = size.note;
    words.replaceChildren(marked(size));
    this.offer(size);
  }

  // A button for each character of the text that has a replacement.
  offer(size) {
    const place = this.root.querySelector("[data-remedies]");
    if (!place || !this.facts.values) return;
    size ??= measure(fill(this.text.value, this.facts.values) + this.facts.tail, this.facts.alphabet);
    const offered = Object.entries(size.remedies).filter(([each]) => this.text.value.includes(each));
    if (place.dataset.remedies === JSON.stringify(offered)) return; // a button that is being pressed stays
    place.dataset.remedies = JSON.stringify(offered);
    place.replaceChildren(...offered.map(([each, plain]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "ww-piece";
      button.dataset.replace = each;
      const words = this.facts.alphabet.words;
      const character = /[\p{C}\p{Z}]/u.test(each) ? words.that_invisible : each;
      button.textContent = say(plain.trim() ? words.write : plain ? words.space : words.leave, { plain, character });
      return button;
    }));
  }

  // The words of a call, spoken by the server. Without this script they open in a tab of their own.
  listen(link) {
    const label = link.querySelector("[aria-live]");
    if (this.audio) { this.silence(); return; }
    const words = label.textContent;
    this.audio = new Audio(link.href);
    this.silence = (said = words) => {
      this.audio?.pause();
      this.audio = null;
      label.textContent = said;
    };
    label.textContent = link.dataset.stop;
    this.audio.addEventListener("ended", () => this.silence());
    this.audio.addEventListener("error", () => this.audio && this.silence(link.dataset.failed));
    this.audio.play().catch(() => {}); // the event tells
  }

  clicked(event) {
    const spoken = event.target.closest("[data-listen]");
    if (spoken) { event.preventDefault(); this.listen(spoken); return; }
    const button = event.target.closest("[data-insert], [data-replace]");
    if (!button) return;
    if (button.dataset.insert) {
      this.text.setRangeText(button.dataset.insert, this.text.selectionStart, this.text.selectionEnd, "end");
    } else {
      const character = button.dataset.replace;
      this.text.value = this.text.value.replaceAll(character, replacement(character, this.facts.alphabet) ?? "");
    }
    this.text.focus();
    this.text.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // What only the server knows: findings, and the message as it goes out.
  async ask() {
    const turn = this.turn;
    const body = new FormData(this.form);
    for (const name of ["project", "channel", "language"]) {
      if (!body.has(name)) body.set(name, this.facts[name]);
    }
    try {
      const answer = await fetch(this.facts.address, { method: "POST", body, headers: { "X-Fragment": "yes" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok || turn !== this.turn) return;
      const facts = page.querySelector("[type='application/json']");
      if (facts) this.facts = JSON.parse(facts.textContent);
      this.silence?.();
      const shown = page.querySelector(".ww-live");
      this.root.querySelector(".ww-live").replaceChildren(...shown.childNodes);
      this.offer();
    } catch {
      // The server is away: what was counted here stands, and saving says what is wrong.
    }
  }
}

globalThis.watchwordTexts = { measure };
document.addEventListener("DOMContentLoaded", () => {
  for (const root of document.querySelectorAll(".ww-editor")) new Editor(root);
});
