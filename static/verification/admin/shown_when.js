// A setting that another one makes relevant is hidden while it is not: data-shown-when has that field's name and the values.
// A hidden field with an error stays, so that it can be corrected.
document.addEventListener("DOMContentLoaded", () => {
  const fields = [...document.querySelectorAll("[data-shown-when]")];
  function show() {
    for (const field of fields) {
      const [name, values] = JSON.parse(field.dataset.shownWhen);
      const other = document.getElementById(`id_${name}`);
      const value = other.type === "checkbox" ? other.checked : other.value;
      const row = field.closest(".field-row") || field.parentElement;
      row.hidden = !values.includes(value) && !row.querySelector(".errorlist, .text-red-600 ul");
    }
  }
  document.addEventListener("change", show);
  if (fields.length) show();
});
