// Phone numbers while they are typed. The service judges a number; this only makes typing one easy.
import { COUNTRIES } from "./countries.js";

/** @typedef {{region: string, code: string, trunk: string, groups: number[], lengths: number[], prefix: RegExp}} Country */

/** @type {Map<string, Country>} */
export const countries = new Map(
  COUNTRIES.split(" ").map((entry) => {
    const [, region, code, trunk, groups, lengths, prefix] = /^(..)(\d+):(\d*):(\w*):(\w*):(.*)$/.exec(entry);
    const numbers = (text) => [...text].map((length) => parseInt(length, 36));
    return [region, { region, code, trunk, groups: numbers(groups), lengths: numbers(lengths), prefix: new RegExp(`^(${prefix || "00"})$`) }];
  }),
);

const LONGEST_PREFIX = 8; // digits of what is dialled before a number abroad, of all countries
const PLUS = /[+\u207a\u208a\u2795\ufb29\ufe62]/; // a full-width one is plain text's
// One number: anything but digits, then digits with what people write between them, then anything but digits.
const NUMBER = /^(\P{N}*)([0-9](?:[0-9\s\p{Pd}\p{Ps}\p{Pe}\p{M}./·‧・~_'’\u2212]*[0-9])?)(\P{N}*)$/u;
const NO_DIGIT = /^\P{N}*$/u;
const ADDRESS = /[/=@]/; // before the digits: they are part of a link, and may be written without their plus

/** Return text without what is invisible, every decimal digit of any script and every full-width form in ASCII. */
export function plainText(text) {
  return text
    .replace(/\p{Cf}/gu, "")
    .replace(/[\uff01-\uff5e]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/\p{Nd}/gu, (digit) => {
      let zero = digit.codePointAt(0); // the digits of a script stand in a row, and rows beside each other begin with 0
      while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
      return String((digit.codePointAt(0) - zero) % 10);
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

/**
 * Read what was typed: the country, and the digits of the number without its calling code and trunk prefix. The country is
 * null if no calling code is known. `isOpen`: it may become another number while it is typed. `isDoubtful`: it can be
 * read as several numbers, or as none, and is nobody's.
 */
export function readNumber(typed, country) {
  const text = plainText(typed);
  if (NO_DIGIT.test(text)) return { country, national: "", isOpen: PLUS.test(text) };
  const doubtful = { country, national: "", isOpen: true, isDoubtful: true };
  const [, before, number, after] = NUMBER.exec(text) ?? [];
  if (!number || PLUS.test(after)) return doubtful;
  const digits = number.replace(/\D/g, "");
  if (PLUS.test(before)) {
    const reading = abroad(digits, country);
    return reading ? { ...reading, isOpen: !reading.country } : doubtful;
  }
  if (ADDRESS.test(before)) return doubtful;
  const prefixes = prefixesOf(digits, country);
  const home = { country, national: withoutTrunk(digits, country) };
  if (!prefixes.length) return { ...home, isOpen: false };
  const found = prefixes.map((length) => abroad(digits.slice(length), country));
  if (!digits.startsWith("0")) found.push(home); // no trunk prefix, so it may be the number's own beginning
  const possible = new Map(found.filter(isPossible).map((reading) => [e164(reading), reading]));
  const [reading] = possible.values();
  // While it is typed, a longer prefix may follow, and a number of another length.
  const isOpen = found.length > 1 || digits.length <= LONGEST_PREFIX;
  return possible.size === 1 ? { ...reading, isOpen } : doubtful;
}

/** Return the lengths of the prefixes of calls abroad that the digits may begin with: the country's, and the usual 00. */
function prefixesOf(digits, { prefix }) {
  const lengths = Array.from({ length: Math.min(LONGEST_PREFIX, digits.length) }, (_, index) => index + 1);
  return lengths.filter((length) => length > 1 && (prefix.test(digits.slice(0, length)) || digits.slice(0, length) === "00"));
}

/** Read digits that begin with a calling code; null if they cannot. */
function abroad(digits, current) {
  if (digits.startsWith("0")) return null;
  const country = countryOf(digits, current);
  return { country, national: country ? withoutTrunk(digits.slice(country.code.length), country) : digits };
}

const isPossible = (reading) => Boolean(reading?.country?.lengths.includes(reading.national.length));
const e164 = ({ country, national }) => `+${country?.code ?? ""}${national}`;

/** Return the number in E.164; empty for none, and for what is in doubt. */
export function asE164(typed, country) {
  const reading = readNumber(typed, country);
  return reading.isDoubtful || !reading.national ? "" : e164(reading);
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

// At home a leading 0 never belongs to the number; a leading 1 or 8 does unless the number is too long by it.
function withoutTrunk(digits, { trunk, groups }) {
  if (!trunk || !digits.startsWith(trunk)) return digits;
  const usual = groups.reduce((sum, length) => sum + length, 0);
  return trunk.startsWith("0") || digits.length === usual + trunk.length ? digits.slice(trunk.length) : digits;
}
