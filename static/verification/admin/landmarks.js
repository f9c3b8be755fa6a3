// Marks that unfold's templates leave out, for people who listen to a page. Icons are words in a font and are not read
// out; parts of a page of one kind have names that tell them apart.
const NAMES = {
  "#nav-sidebar-inner": "Menu",
  "#tabs-items": "Tabs",
  "#tabs-dropdown": "More tabs",
  "#searchbar-submit": "Search",
  "#changelist-filter": "Filters",
};

function name(root) {
  for (const icon of root.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
  for (const [selector, text] of Object.entries(NAMES)) {
    for (const found of root.querySelectorAll(selector)) found.setAttribute("aria-label", text);
  }
  for (const found of root.querySelectorAll("th")) {
    if (!found.textContent.trim() && !found.querySelector("input")) found.setAttribute("role", "cell"); // heads nothing
  }
  for (const found of root.querySelectorAll("[data-simplebar]")) {
    const parent = found.closest("[aria-label]");
    found.dataset.simplebarAriaLabel = parent ? `${parent.getAttribute("aria-label")}, scrolls` : "Scrolls";
  }
}

document.addEventListener("DOMContentLoaded", () => name(document)); // before the scroll bars are made
document.addEventListener("htmx:afterSwap", (event) => name(event.target));
