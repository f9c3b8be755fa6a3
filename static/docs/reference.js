"use strict";

// The list at the side: one link an operation, in the order of the page.
const listOperations = () => {
  const side = document.getElementById("side");
  for (const section of document.querySelectorAll(".opblock-tag-section")) {
    const heading = document.createElement("p");
    heading.textContent = section.querySelector(".opblock-tag").dataset.tag;
    const list = document.createElement("ul");
    for (const block of section.querySelectorAll(".opblock")) {
      const method = block.querySelector(".opblock-summary-method").textContent;
      const label = document.createElement("span");
      label.className = `method ${method.toLowerCase()}`;
      label.textContent = method;
      const link = document.createElement("a");
      link.href = `#/${block.id.replace("operations-", "").replace("-", "/")}`;
      link.append(label, block.querySelector(".opblock-summary-description").textContent);
      link.addEventListener("click", () => open(block.id));
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    side.append(heading, list);
  }
};

const open = (id) => {
  const block = document.getElementById(id);
  if (!block.classList.contains("is-open")) block.querySelector(".opblock-summary-control").click();
  block.scrollIntoView();
};

window.ui = SwaggerUIBundle({
  url: "/docs/openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  defaultModelRendering: "example",
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  // Trying out goes to where this page came from, under whatever name that was; the CSP allows nothing else.
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
  onComplete: listOperations,
});
