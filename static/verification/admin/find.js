// The key "/" leads to the search of all traffic: to its box in the menu, or where that is closed to its page.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
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
document.addEventListener("DOMContentLoaded", () => document.querySelector("[data-find-first]")?.focus());
