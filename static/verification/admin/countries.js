// Writes the name of a country or a language, in the page's language, before its code. The browser knows the names, so the service carries no list of them.
document.addEventListener("DOMContentLoaded", () => {
  const namesOf = (type) => new Intl.DisplayNames([document.documentElement.lang || "en", "en"], { type, fallback: "none" });
  const names = namesOf("region");
  const languages = namesOf("language");
  for (const list of new Set([...document.querySelectorAll("option[data-country]")].map((each) => each.parentElement))) {
    const options = [...list.querySelectorAll("option[data-country]")];
    for (const option of options) option.textContent = names.of(option.value) || option.value;
    options.sort((one, other) => one.textContent.localeCompare(other.textContent));
    list.append(...options);
  }
  const write = (place, name, code) => {
    if (!name) return;
    const note = document.createElement("small");
    note.className = "ww-muted";
    note.textContent = ` ${code}`;
    place.replaceChildren(name, note);
  };
  for (const place of document.querySelectorAll("[data-country]:not(option)")) {
    const code = place.dataset.country;
    write(place, /^[A-Z]{2}$/.test(code) && names.of(code), code);
  }
  for (const place of document.querySelectorAll("[data-language]")) {
    const code = place.dataset.language;
    write(place, /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(code) && languages.of(code), code);
  }
});
