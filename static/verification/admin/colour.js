// Beside a field for a colour: the browser's own choice of a colour, and how a button and a link look in it on a light and
// on a dark page. The rules are those of contrib/hosted/colours.py, which the hosted page itself follows.
(() => {
  const [READABLE, STEPS, SEEN] = [4.5, 20, 1.3]; // contrast of text by WCAG 2.2; steps to black or white; a seen button
  const [LIGHT, DARK, BLACK, WHITE] = ["#ffffff", "#1b1b20", "#000000", "#ffffff"];
  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((each) => each / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  // As Python rounds: halves to the even number.
  const round = (number) => (Math.abs(number % 1) === 0.5 ? 2 * Math.round(number / 2) : Math.round(number));
  const mix = (one, other, part) => `#${channels(one).map((each, at) => round(each + (channels(other)[at] - each) * part).toString(16).padStart(2, "0")).join("")}`;
  const readable = (colour, ground, towards) => {
    for (let step = 0; step <= STEPS; step += 1) {
      const mixed = mix(colour, towards, step / STEPS);
      if (contrast(mixed, ground) >= READABLE) return mixed;
    }
    return towards;
  };
  const onLight = (colour) => readable(colour, LIGHT, BLACK);
  const onDark = (colour) => readable(colour, DARK, WHITE);
  const filled = (colour) => (contrast(colour, LIGHT) >= SEEN ? colour : onLight(colour));
  const textOn = (colour) => (contrast(colour, WHITE) >= READABLE ? WHITE : BLACK);

  function sample(words, title, chosen, ground, button, link) {
    const box = document.createElement("span");
    box.className = "ww-colour-sample";
    box.style.background = ground;
    for (const [text, colour, back] of [[words.button, textOn(button), button], [words.link, link, ""]]) {
      const part = document.createElement("span");
      part.textContent = text;
      part.style.color = colour;
      if (back) part.style.background = back;
      box.append(part);
    }
    box.setAttribute("aria-hidden", "true");
    const note = document.createElement("small");
    note.textContent = [title, [button, link].every((each) => each === chosen) ? "" : words.adjusted].filter(Boolean).join(" · ");
    const figure = document.createElement("span");
    figure.append(box, note);
    return figure;
  }

  function choose(field) {
    const said = field.dataset;
    const words = { button: said.sayButton, link: said.sayLink, adjusted: said.sayAdjusted };
    const label = document.querySelector(`label[for="${field.id}"]`);
    const picker = Object.assign(document.createElement("input"), { type: "color", className: "ww-colour-picker" });
    picker.setAttribute("aria-label", label ? label.textContent.replace(/[:*]\s*$/, "").trim() : field.name);
    const line = document.createElement("span");
    line.className = "ww-colour";
    const preview = document.createElement("span");
    preview.className = "ww-colour-preview";
    preview.setAttribute("role", "status");
    field.before(line);
    line.append(picker, field);
    line.after(preview);

    function show() {
      const colour = field.value.trim().toLowerCase();
      if (!/^#[0-9a-f]{6}$/.test(colour)) return;
      picker.value = colour;
      const night = onDark(colour);
      preview.replaceChildren(
        sample(words, said.sayOnLight, colour, LIGHT, filled(colour), onLight(colour)),
        sample(words, said.sayOnDark, colour, DARK, night, night),
      );
    }
    picker.addEventListener("input", () => {
      field.value = picker.value;
      field.dispatchEvent(new Event("change", { bubbles: true }));
      show();
    });
    field.addEventListener("input", show);
    show();
  }
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("input[data-colour]").forEach(choose));
})();
