// Phone numbers while they are typed. The service judges a number; this only makes typing one easy.
import { COUNTRIES } from "./countries.js";

const MAX_DIGITS = 15; // of a number with its calling code (E.164)

/** @typedef {{region: string, code: string, trunk: string, groups: number[]}} Country */

/** @type {Map<string, Country>} */
export const countries = new Map(
  COUNTRIES.split(" ").map((entry) => {
    const [, region, code, trunk, groups] = /^(..)(\d+):(\d*):(\w*)$/.exec(entry);
    return [region, { region, code, trunk, groups: [...groups].map((length) => parseInt(length, 36)) }];
  }),
);

/** Return text with every digit written in ASCII: Arabic, Persian, Devanagari, Bengali, Thai and full-width ones too. */
export function asciiDigits(text) {
  return text
    .normalize("NFKC")
    .replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59]/g, (digit) => {
      const point = digit.charCodeAt(0);
      const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50];
      return String(point - zeros.findLast((zero) => zero <= point));
    });
}

/** Return the country that digits after a plus belong to, preferring `current` where several share the code. */
export function countryOf(digits, current) {
  if (current && digits.startsWith(current.code)) return current;
  for (let length = 3; length > 0; length--) {
    const code = digits.slice(0, length);
    for (const country of countries.values()) if (country.code === code) return country;
  }
  return null;
}

/** Read what was typed: the country, and the digits of the number without its calling code and trunk prefix. */
export function readNumber(typed, country) {
  const text = asciiDigits(typed).trim();
  let digits = text.replace(/\D/g, "");
  const isInternational = text.startsWith("+") || text.startsWith("00");
  if (isInternational) {
    digits = digits.replace(/^00/, "");
    const found = countryOf(digits, country);
    // Until the calling code is whole, the number stays as it is.
    if (!found) return { country, national: digits, isOpen: true };
    country = found;
    digits = digits.slice(found.code.length);
  }
  return { country, national: withoutTrunk(digits, country).slice(0, MAX_DIGITS), isOpen: false };
}

/** Return the number in E.164. */
export function asE164(typed, country) {
  const { country: found, national, isOpen } = readNumber(typed, country);
  return isOpen ? `+${national}` : `+${found.code}${national}`;
}

/** Return digits in the groups that the country writes a mobile number in. What is longer goes to the last group. */
export function grouped(digits, country) {
  const parts = [];
  let rest = digits;
  country.groups.forEach((length, index) => {
    if (!rest) return;
    const isLast = index === country.groups.length - 1;
    parts.push(isLast ? rest : rest.slice(0, length));
    rest = isLast ? "" : rest.slice(length);
  });
  return parts.join(" ");
}

/** Return a number as people read it: +49 1512 3456789. */
export function shownNumber(e164) {
  const digits = e164.replace(/\D/g, "");
  const country = countryOf(digits);
  return country ? `+${country.code} ${grouped(digits.slice(country.code.length), country)}` : e164;
}

// At home a leading 0 never belongs to the number; a leading 1 or 8 does unless the number is too long with it.
function withoutTrunk(digits, { trunk, groups }) {
  if (!trunk || !digits.startsWith(trunk)) return digits;
  const usual = groups.reduce((sum, length) => sum + length, 0);
  return trunk.startsWith("0") || digits.length > usual ? digits.slice(trunk.length) : digits;
}
