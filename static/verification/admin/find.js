// The key "/" leads to the box that finds codes, pages, projects and settings: in the menu, or where that is closed on
// its page. So does Ctrl+K.
const MOST_OFFERED = 8;
let entries; // all that the boxes offer beside codes, once asked for

document.addEventListener("keydown", (event) => {
  const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
  const isCommand = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (!(isSlash || isCommand) || event.defaultPrevented) return;
  if (isSlash && event.target.closest("input, textarea, select, [contenteditable]")) return;
  const boxes = [...document.querySelectorAll("main [data-find], [data-find]")];
  const box = boxes.find((each) => each.checkVisibility() && each.getBoundingClientRect().right > 0);
  const link = document.querySelector("[data-find-page]");
  if (!box && !link) return;
  event.preventDefault();
  if (box) box.select();
  if (box) box.focus();
  else location.assign(link.href);
});

// Its page begins in the box. The attribute autofocus waits for a frame to be drawn, and loses what is typed before.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("[data-find]")) offerIn(box);
  document.querySelector("[data-find-first]")?.focus();
});

async function load(address) {
  entries ||= fetch(address, { headers: { Accept: "application/json" } })
    .then((answer) => (answer.ok ? answer.json() : { entries: [] }))
    .then((answer) => answer.entries)
    .catch(() => []); // a lost connection: the box finds codes all the same
  return entries;
}

// Words in any order; those whose title begins with them come first.
function matching(all, text) {
  const words = text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const rank = (entry) => {
    const title = entry.title.toLocaleLowerCase();
    if (title.startsWith(words.join(" "))) return 0;
    return words.every((word) => title.includes(word)) ? 1 : 2;
  };
  return all
    .filter((entry) => words.every((word) => `${entry.title} ${entry.hint} ${entry.words}`.toLocaleLowerCase().includes(word)))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, MOST_OFFERED);
}

// A number, an address or an id is a code that somebody looks for. Letters alone are a page.
const isName = (text) => /^[\p{L}\p{M}][\p{L}\p{M} &'’.-]*$/u.test(text.trim());

function offerIn(box) {
  const list = document.createElement("ul");
  list.className = "ww-offered";
  list.id = `${box.id || "ww-menu-find"}-offered`;
  list.role = "listbox";
  list.ariaLabel = box.dataset.findOffers;
  list.hidden = true;
  box.after(list);
  box.role = "combobox";
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", list.id);
  box.ariaExpanded = "false";
  let chosen = -1;

  function choose(number) {
    chosen = number;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
    if (chosen < 0) box.removeAttribute("aria-activedescendant");
    else {
      box.setAttribute("aria-activedescendant", list.children[chosen].id);
      list.children[chosen].scrollIntoView({ block: "nearest" });
    }
  }

  function close() {
    list.hidden = true;
    box.ariaExpanded = "false";
    choose(-1);
  }

  async function show() {
    const text = box.value;
    const found = matching(await load(box.dataset.findEntries), text);
    if (text !== box.value) return; // somebody typed on meanwhile
    list.replaceChildren(...found.map((entry, at) => itemOf(entry, `${list.id}-${at}`)));
    list.hidden = !found.length || document.activeElement !== box;
    box.ariaExpanded = String(!list.hidden);
    choose(found.length && isName(text) ? 0 : -1);
  }

  box.addEventListener("focus", () => load(box.dataset.findEntries));
  box.addEventListener("input", show);
  box.addEventListener("blur", () => setTimeout(close, 150)); // a click on an entry comes first
  box.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const number = list.children.length;
    if (event.key === "ArrowDown") choose((chosen + 1) % number);
    else if (event.key === "ArrowUp") choose(chosen <= 0 ? number - 1 : chosen - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && chosen >= 0) location.assign(list.children[chosen].dataset.link);
    else return;
    event.preventDefault();
  });
}

function itemOf(entry, id) {
  const item = document.createElement("li");
  item.id = id;
  item.role = "option";
  item.dataset.link = entry.link;
  const icon = document.createElement("span");
  icon.className = "material-symbols-outlined";
  icon.ariaHidden = "true";
  icon.textContent = entry.icon;
  const title = document.createElement("span");
  title.textContent = entry.title;
  const hint = document.createElement("small");
  hint.textContent = entry.hint;
  item.append(icon, title, hint);
  item.addEventListener("mousedown", (event) => {
    event.preventDefault();
    location.assign(entry.link);
  });
  return item;
}
