// A preset fills the fields of the form, and the list below it says what saving would change. Fields that match no
// preset are "custom".
document.addEventListener("DOMContentLoaded", () => {
  const box = document.querySelector("[data-presets]");
  if (!box) return;
  const presets = JSON.parse(document.getElementById("ww-preset-values").textContent);
  const names = Object.keys(presets.standard);
  const field = (name) => document.getElementById(`id_${name}`);
  const read = (input) => (input.type === "checkbox" ? input.checked : input.value);
  const before = (input) => {
    if (input.type === "checkbox") return input.defaultChecked;
    if (input.tagName === "SELECT") return [...input.options].find((each) => each.defaultSelected)?.value ?? input.value;
    return input.defaultValue;
  };
  const written = (input, value) => {
    if (input.type === "checkbox") return box.dataset[value ? "on" : "off"];
    if (input.tagName === "SELECT") return [...input.options].find((each) => each.value === value)?.textContent.trim() ?? value;
    return value;
  };
  if (!field(names[0])) return; // the reader may change nothing

  function show() {
    const changed = names.map(field).filter((input) => read(input) !== before(input));
    const list = box.querySelector("[data-changes]");
    list.hidden = !changed.length;
    list.querySelector("ul").replaceChildren(...changed.map((input) => {
      const line = document.createElement("li");
      const old = document.createElement("del");
      const now = document.createElement("ins");
      old.textContent = written(input, before(input));
      now.textContent = written(input, read(input));
      const label = document.querySelector(`label[for="${input.id}"]`);
      line.append(`${label ? label.firstChild.textContent.trim().replace(/[:*]$/, "") : input.name}: `, old, " → ", now);
      return line;
    }));
  }

  box.addEventListener("change", (event) => {
    const preset = presets[event.target.value];
    for (const name of preset ? names : []) {
      const input = field(name);
      if (input.type === "checkbox") input.checked = preset[name];
      else input.value = String(preset[name]);
    }
    show();
  });
  box.closest("form").addEventListener("input", (event) => {
    if (!names.includes(event.target.name)) return;
    const same = (preset) => names.every((name) => String(read(field(name))) === String(preset[name]));
    const found = Object.keys(presets).find((name) => same(presets[name])) || "custom";
    box.querySelector(`[name="preset"][value="${found}"]`).checked = true;
    show();
  });
});
