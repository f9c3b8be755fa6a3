"use strict";

// A button at each block of code copies it. Without https there is no clipboard, and then no button.
const SHOWN_MS = 2000; // for so long the button says that it has copied

const addButton = (block) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
  });
  const frame = document.createElement("div");
  frame.className = "copied";
  block.before(frame);
  frame.append(block, button);
};

if (navigator.clipboard) document.querySelectorAll("#content pre").forEach(addButton);
