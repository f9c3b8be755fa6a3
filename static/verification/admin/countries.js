// Writes the name of a country, in the page's language, before its code. The browser knows the names, so the service carries no list of them.
document.addEventListener("DOMContentLoaded", () => {
  const names = new Intl.DisplayNames([document.documentElement.lang || "en", "en"], { type: "region", fallback: "none" });
  for (const list of new Set([...document.querySelectorAll("option[data-country]")].map((each) => each.parentElement))) {
    const options = [...list.querySelectorAll("option[data-country]")];
    for (const option of options) option.textContent = names.of(option.value) || option.value;
    options.sort((one, other) => one.textContent.localeCompare(other.textContent));
    list.append(...options);
  }
  for (const place of document.querySelectorAll("[data-country]:not(option)")) {
    const code = place.dataset.country;
    const name = /^[A-Z]{2}$/.test(code) && names.of(code);
    if (!name) continue;
    const note = document.createElement("small");
    note.className = "ww-muted";
    note.textContent = ` ${code}`;
    place.replaceChildren(name, note);
  }
});
