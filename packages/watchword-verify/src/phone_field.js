// The field of a phone number: the country beside it, and the number grouped while it is typed.
import { h } from "./dom.js";
import { asE164, countries, grouped, plainText, readNumber } from "./phone.js";

const PREFIX_DIGITS = 3; // among which a 0 may begin the prefix of a call abroad, and so is left while they are typed

/**
 * Return the field's node, its input, `value()`, the number in E.164 or an empty string, and `isDoubtful()`, whether what
 * stands there cannot be read with certainty.
 */
export function phoneField({ words, language, region, value, describedBy }) {
  let country = countries.get(region) ?? countries.get("US");
  const shown = h("span", { part: "country-code", "aria-hidden": "true" });
  const select = h("select", { "aria-label": words.country }, ...options(language));
  const input = h("input", {
    part: "input phone-input",
    id: "to",
    type: "tel",
    inputmode: "tel",
    autocomplete: "tel",
    dir: "ltr",
    required: true,
    "aria-describedby": describedBy,
  });

  function choose(next) {
    country = next;
    select.value = country.region;
    shown.textContent = `${country.region} +${country.code}`;
  }

  function rewrite() {
    const caret = digitsIn(input.value.slice(0, input.selectionStart ?? input.value.length));
    const before = digitsIn(input.value);
    const typed = readNumber(input.value, country);
    const isPrefix = caret < PREFIX_DIGITS && /^\D*0/.test(plainText(input.value));
    if (typed.isOpen || isPrefix) return;
    choose(typed.country);
    const text = grouped(typed.national, typed.country);
    if (text === input.value) return;
    input.value = text;
    const place = placeAfter(text, caret - (before - digitsIn(text)));
    if (input.getRootNode().activeElement === input) input.setSelectionRange(place, place);
  }

  select.addEventListener("change", () => {
    choose(countries.get(select.value));
    rewrite();
    input.focus();
  });
  input.addEventListener("input", rewrite);
  choose(country);
  if (value) {
    input.value = value;
    rewrite();
  }
  const node = h(
    "div",
    { part: "field phone-field" },
    h("span", { part: "country" }, shown, select),
    input,
  );
  return {
    node,
    input,
    value: () => asE164(input.value, country),
    isDoubtful: () => Boolean(readNumber(input.value, country).isDoubtful),
  };
}

const digitsIn = (text) => plainText(text).replace(/\D/g, "").length;

/** Return the place in the text that stands after this many of its digits. */
function placeAfter(text, count) {
  if (count <= 0) return 0;
  for (let place = 0, seen = 0; place < text.length; place++) {
    if (/\d/.test(text[place]) && ++seen === count) return place + 1;
  }
  return text.length;
}

function options(language) {
  const names = new Intl.DisplayNames([language], { type: "region" });
  const compare = new Intl.Collator(language).compare;
  return [...countries.values()]
    .map(({ region, code }) => ({ region, code, name: names.of(region) }))
    .sort((one, other) => compare(one.name, other.name))
    .map(({ region, code, name }) => h("option", { value: region }, `${name} (+${code})`));
}
