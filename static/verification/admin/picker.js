// A list of countries or languages to search and tick, above the field of text that holds it. The field is what is sent:
// the list writes into it, and reads what is pasted there. The browser knows the names, so the service sends codes alone.
(() => {
  const NAMES = {
    country: (language) => new Intl.DisplayNames([language, "en"], { type: "region", fallback: "none" }),
    language: (language) => new Intl.DisplayNames([language, "en"], { type: "language", fallback: "none" }),
  };
  const LANGUAGE_TAG = /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i;
  const flag = (code) => String.fromCodePoint(...[...code].map((letter) => 0x1f1a5 + letter.charCodeAt(0)));
  // Flags are letters or empty boxes where the machine has no font for them; the code that follows is enough there.
  const hasFlags = (() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 24, height: 24 }).getContext("2d");
    canvas.font = "16px sans-serif";
    canvas.fillText(flag("DE"), 0, 18);
    const { data } = canvas.getImageData(0, 0, 24, 24);
    return data.some((value, index) => index % 4 === 0 && Math.abs(value - data[index + 2]) > 32);
  })();
  const plain = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/&/g, "and");

  function make(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function pick(field) {
    const kind = field.dataset.picker;
    const language = document.documentElement.lang || "en";
    const [own, english] = [NAMES[kind](language), NAMES[kind]("en")];
    const prices = JSON.parse(field.dataset.prices || "{}");
    const options = new Map();
    const label = document.querySelector(`label[for="${field.id}"]`);
    const title = label ? label.textContent.replace(/[:*]\s*$/, "").trim() : field.name;

    function add(code, calling = "") {
      const name = own.of(code) || code;
      const terms = plain([name, english.of(code) || "", code, calling && `+${calling}`].join(" "));
      options.set(code, { code, name, calling, terms, price: prices[code] || "" });
    }
    for (const each of field.dataset.options.split(" ")) add(...each.split(":"));

    // What is written in the field, as codes where they are known: names in the reader's language and in English count too.
    function read() {
      const byName = new Map([...options.values()].flatMap(({ code, name }) =>
        [code, name, english.of(code) || code].map((each) => [plain(each), code])));
      const found = [];
      for (const part of field.value.split(/[,;\n]+/)) {
        if (byName.has(plain(part.trim()))) found.push(byName.get(plain(part.trim())));
        else found.push(...part.split(/\s+/).filter(Boolean).map((word) => byName.get(plain(word)) || word));
      }
      return [...new Set(found)];
    }
    let chosen = read();

    const search = make("input", { type: "search", className: "ww-input", placeholder: field.dataset.sayFind, autocomplete: "off", spellcheck: false });
    search.setAttribute("aria-label", `${title}: ${field.dataset.sayFind}`);
    const status = make("p", { className: "ww-picker-status" });
    status.setAttribute("role", "status");
    const chips = make("ul", { className: "ww-picker-chips" });
    const list = make("ul", { className: "ww-picker-list" });
    const clear = make("button", { type: "button", className: "ww-link", textContent: field.dataset.sayClear });
    const box = make("div", { className: "ww-picker" }, make("div", { className: "ww-picker-head" }, status, clear), chips, search, list);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", title);

    function line({ code, name, calling, price }) {
      const tick = make("input", { type: "checkbox", value: code, checked: chosen.includes(code) });
      const text = make("span", { className: "ww-picker-name" }, name);
      const note = make("small", {}, [code, calling && `+${calling}`].filter(Boolean).join(" "));
      const parts = [tick, text, note];
      if (kind === "country" && hasFlags) {
        const sign = make("span", { textContent: flag(code) });
        sign.setAttribute("aria-hidden", "true");
        parts.splice(1, 0, sign);
      }
      if (price) parts.push(make("small", { className: "ww-picker-price", textContent: price }));
      return make("li", {}, make("label", {}, ...parts));
    }

    const rank = ({ code, name }, wanted) => (!wanted || plain(code) === wanted ? 0 : plain(name).startsWith(wanted) ? 1 : 2);

    function drawList() {
      const wanted = plain(search.value.trim());
      const shown = [...options.values()].filter((each) => each.terms.includes(wanted))
        .sort((one, other) => rank(one, wanted) - rank(other, wanted) || one.name.localeCompare(other.name));
      const typed = search.value.trim();
      if (kind === "language" && LANGUAGE_TAG.test(typed) && own.of(typed) && !shown.some((each) => plain(each.code) === wanted)) {
        shown.push({ code: typed, name: own.of(typed) || typed, calling: "", price: "" });
      }
      list.replaceChildren(...(shown.length ? shown.map(line) : [make("li", { className: "ww-picker-none", textContent: field.dataset.sayNone })]));
    }

    function drawChosen() {
      status.textContent = chosen.length ? field.dataset.saySome.replace("{number}", chosen.length) : field.dataset.sayEmpty;
      clear.hidden = !chosen.length;
      chips.hidden = !chosen.length;
      chips.replaceChildren(...chosen.map((code) => {
        const name = options.get(code)?.name || own.of(code) || code;
        const button = make("button", { type: "button", title: field.dataset.sayRemove.replace("{name}", name), value: code });
        button.setAttribute("aria-label", button.title);
        button.append(kind === "country" && hasFlags && options.has(code) ? `${flag(code)} ${name}` : name, make("span", { textContent: "×" }));
        return make("li", {}, button);
      }));
    }

    function set(codes) {
      chosen = codes;
      field.value = codes.join("\n");
      field.dispatchEvent(new Event("change", { bubbles: true })); // the page warns of what is not saved
      drawChosen();
    }

    list.addEventListener("change", (event) => {
      const code = event.target.value;
      if (!options.has(code)) add(code);
      set(event.target.checked ? [...chosen, code] : chosen.filter((each) => each !== code));
      event.stopPropagation();
    });
    chips.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      set(chosen.filter((each) => each !== button.value));
      drawList();
      search.focus();
    });
    clear.addEventListener("click", () => { set([]); drawList(); search.focus(); });
    search.addEventListener("input", drawList);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault(); // it would send the whole form
      if (event.key === "ArrowDown") { event.preventDefault(); list.querySelector("input")?.focus(); }
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const ticks = [...list.querySelectorAll("input")];
      (ticks[ticks.indexOf(event.target) + step] || (step < 0 ? search : event.target)).focus();
    });
    field.addEventListener("input", () => { chosen = read(); drawChosen(); drawList(); });

    const paste = make("details", { className: "ww-picker-paste" }, make("summary", { textContent: field.dataset.sayPaste }));
    field.before(box);
    box.after(paste);
    paste.append(field, make("p", { className: "ww-help", textContent: field.dataset.sayFormat }));
    drawChosen();
    drawList();
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("textarea[data-picker]").forEach(pick));
})();
