// Marks that unfold's templates leave out, for people who listen to a page. Icons are words in a font and are not read
// out; parts of a page of one kind have names that tell them apart.
const NAMES = {  // the words of each, as the page has them in the reader's language
  "#nav-sidebar-inner": "sayMenu",
  "#tabs-items": "sayTabs",
  "#tabs-dropdown": "sayMoreTabs",
  "#searchbar-submit": "saySearch",
  "#changelist-filter": "sayFilters",
};

function name(root) {
  for (const icon of root.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
  const words = document.getElementById("ww-words").dataset;
  for (const [selector, text] of Object.entries(NAMES)) {
    for (const found of root.querySelectorAll(selector)) found.setAttribute("aria-label", words[text]);
  }
  for (const found of root.querySelectorAll("th")) {
    if (!found.textContent.trim() && !found.querySelector("input")) found.setAttribute("role", "cell"); // heads nothing
  }
  for (const found of root.querySelectorAll("td[data-label], th[data-label]")) {
    const label = found.dataset.label; // stands before the cell on a phone; the names of columns begin small
    found.dataset.label = label.charAt(0).toUpperCase() + label.slice(1);
  }
  for (const found of root.querySelectorAll("[data-simplebar]")) {
    const parent = found.closest("[aria-label], [aria-labelledby]");
    const title = parent && (parent.getAttribute("aria-label") || document.getElementById(parent.getAttribute("aria-labelledby"))?.textContent.trim());
    found.dataset.simplebarAriaLabel = title ? words.sayNameScrolls.replace("{name}", title) : words.sayScrolls;
  }
}

document.addEventListener("DOMContentLoaded", () => name(document)); // before the scroll bars are made
document.addEventListener("htmx:afterSwap", (event) => name(event.target));
// The row of a project's sections on a phone begins at the one that is open; the list at the side shows it.
document.addEventListener("DOMContentLoaded", () => {
  const current = document.querySelector(".ww-sections [aria-current]");
  if (!current) return;
  const list = current.closest(".ww-sections");
  list.scrollLeft = current.offsetLeft - 48;
  list.scrollTop = current.offsetTop + current.offsetHeight - list.clientHeight;
});
