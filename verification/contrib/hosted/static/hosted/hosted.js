// The hosted page: once the user is verified, the token goes to the owner's address, and nowhere else.
const back = document.querySelector("#back");

document.querySelector("watchword-verify").addEventListener("verified", ({ detail }) => {
  back.elements.verify_token.value = detail.verify_token;
  if (back.dataset.by === "form") return back.submit();
  const told = new URLSearchParams(new FormData(back));
  location.replace(`${back.action}#${told}`); // the page leaves the history, so Back does not lead to a used form
});

// A page that the browser kept and shows again has no token to give any more.
addEventListener("pageshow", (event) => event.persisted && (back.elements.verify_token.value = ""));
