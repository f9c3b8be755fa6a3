// The field of a code: one input, drawn as a box for each character. It reads what is typed, pasted or filled in.
import { h } from "./dom.js";
import { plainText } from "./phone.js";

/** Return the one whole code that a text holds; empty where it holds none, or several. */
export function wholeCode(text, settings) {
  const found = codesIn(text, settings);
  return found.length === 1 ? found[0] : "";
}

/** Return what of a text goes into the field: its whole code, else the likeliest, else its first characters. */
export function readCode(text, settings) {
  const found = codesIn(text, settings);
  const none = new RegExp(`[^${classOf(settings)}]`, "g");
  return found.findLast((code) => /\d/.test(code)) ?? found.at(-1) ?? plainText(text).toUpperCase().replace(none, "").slice(0, settings.length);
}

const classOf = ({ digits, letters }) => (letters ? "A-Z" : "") + (digits || !letters ? "0-9" : "");

/** Return the different codes that a text holds: the text itself, else one word of it, else words that belong together. */
function codesIn(text, settings) {
  const plain = plainText(text);
  const bare = plain.replace(/[\s\p{Pd}]/gu, "").toUpperCase();
  if (bare.length === settings.length && new RegExp(`^[${classOf(settings)}]+$`).test(bare)) return [bare];
  const word = new RegExp(`(?<![A-Za-z0-9])[${classOf(settings)}]+(?![A-Za-z0-9])`, "gi");
  const words = [...plain.matchAll(word)].map(([found], index, all) => ({
    text: found,
    follows: index > 0 && /^[\s\p{Pd}]{1,3}$/u.test(plain.slice(all[index - 1].index + all[index - 1][0].length, all[index].index)),
  }));
  const whole = words.map((each) => each.text).filter((each) => each.length === settings.length);
  // Words of a message have small letters.
  const codes = [whole, groupsOf(words, settings.length)].map((found) => found.filter((code) => code === code.toUpperCase()));
  return [...new Set(codes.find((found) => found.length))];
}

/** Return the texts of neighbouring words that together are as long as a code. */
function groupsOf(words, length) {
  return words.flatMap((_, first) => {
    let joined = "";
    for (let next = first; next < words.length && joined.length < length; next++) {
      if (next > first && !words[next].follows) break;
      joined += words[next].text;
    }
    return joined.length === length ? [joined] : [];
  });
}

/** Return the field's node, its input, and functions to set, clear and shake it. `onFull` runs when a whole code came. */
export function codeField({ words, settings, describedBy, onFull }) {
  const boxes = Array.from({ length: settings.length }, () => h("span", { part: "box" }));
  const input = h("input", {
    part: "code-input",
    id: "code",
    autocomplete: "one-time-code",
    inputmode: settings.letters ? "text" : "numeric",
    autocapitalize: settings.letters ? "characters" : "off",
    autocorrect: "off",
    spellcheck: "false",
    dir: "ltr",
    "aria-label": words.code,
    "aria-describedby": describedBy,
    "aria-required": "true",
  });
  const node = h(
    "div",
    { part: "code" },
    h("div", { part: "boxes", "aria-hidden": "true", dir: "ltr" }, ...boxes),
    input,
  );

  function draw() {
    const isFocused = input.getRootNode().activeElement === input;
    const next = Math.min(input.value.length, settings.length - 1);
    boxes.forEach((box, index) => {
      box.textContent = input.value[index] ?? "";
      box.toggleAttribute("data-next", isFocused && index === next);
      box.toggleAttribute("data-full", index < input.value.length);
    });
  }

  function fill(text) {
    input.value = readCode(text, settings);
    draw();
  }

  function set(text) {
    fill(text);
    const code = wholeCode(text, settings);
    if (code) onFull(code); // what was cut, or is one of several, is the user's to send
  }

  const toEnd = () => input.setSelectionRange(input.value.length, input.value.length);
  input.addEventListener("input", () => set(input.value));
  input.addEventListener("paste", (event) => {
    event.preventDefault();
    set(event.clipboardData.getData("text"));
  });
  for (const name of ["focus", "click", "keyup"]) input.addEventListener(name, () => (toEnd(), draw()));
  input.addEventListener("blur", draw);

  return {
    node,
    input,
    set,
    fill,
    refuse() {
      input.value = "";
      draw();
      node.classList.remove("shake");
      void node.offsetWidth; // a style that is read makes the browser begin the animation anew
      node.classList.add("shake");
    },
  };
}
