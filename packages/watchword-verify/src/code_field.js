// The field of a code: one input, drawn as a box for each character. It reads what is typed, pasted or filled in.
import { h } from "./dom.js";
import { asciiDigits } from "./phone.js";

/** Return the code that a text holds: of a whole message, the part that can be one. */
export function readCode(text, { length, digits, letters }) {
  const plain = asciiDigits(text).toUpperCase();
  const one = letters ? (digits ? "[A-Z0-9]" : "[A-Z]") : "[0-9]";
  const joined = plain.replace(new RegExp(`(?<=${one})[ \\u00a0-](?=${one})`, "g"), letters ? " " : "");
  const whole = [...joined.matchAll(new RegExp(`(?<![A-Z0-9])${one}{${length}}(?![A-Z0-9])`, "g"))].map(([found]) => found);
  // A word of a message has no digit, so a part with one goes before.
  const found = whole.find((part) => /\d/.test(part)) ?? (plain.trim().length === length ? whole[0] : whole.at(-1));
  return found ?? plain.replace(new RegExp(`[^${one.slice(1, -1)}]`, "g"), "").slice(0, length);
}

/** Return the field's node, its input, and functions to set, clear and shake it. `onFull` runs when it is full. */
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

  function set(text) {
    input.value = readCode(text, settings);
    draw();
    if (input.value.length === settings.length) onFull(input.value);
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
    refuse() {
      input.value = "";
      draw();
      node.classList.remove("shake");
      void node.offsetWidth; // a style that is read makes the browser begin the animation anew
      node.classList.add("shake");
    },
  };
}
