// A click on [data-copy="id"] copies the text of the element with that id. It is a file, as the panel's
// Content-Security-Policy allows no script inside a page.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const label = button.querySelector("[data-label]") || button;
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    label.textContent = button.dataset.done;
  } catch {
    // Without https there is no clipboard: select the text, so that one key press copies it.
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    label.textContent = document.getElementById("ww-words").dataset.sayCopy;
  }
  setTimeout(() => { label.textContent = before; }, 2000);
});
