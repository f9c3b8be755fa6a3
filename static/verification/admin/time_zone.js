// The panel writes times in the reader's zone: the browser's, or UTC where they chose it in the account menu. The service reads it from a cookie.
const KEPT = "timeZone";
// Chromium tells zones by names of old, which newer databases of zones leave out (Debian's tzdata, from 13 on).
const RENAMED = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};

function browserZone() {
  try {
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
    return RENAMED[name] || name;
  } catch {
    return "UTC";
  }
}

function tellZone() {
  const name = document.getElementById("ww-words").dataset.zoneCookie;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const zone = localStorage.getItem(KEPT) || browserZone();
  document.cookie = `${name}=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  return zone;
}

document.addEventListener("DOMContentLoaded", () => {
  const zone = tellZone();
  for (const button of document.querySelectorAll("[data-zone]")) {
    const offered = button.dataset.zone || browserZone();
    if (!button.dataset.zone) button.textContent = offered.replaceAll("_", " ");
    if (!button.dataset.zone && offered === "UTC") button.parentElement.hidden = true; // there is nothing to choose
    button.setAttribute("aria-pressed", String(offered === zone));
    button.addEventListener("click", () => {
      if (button.dataset.zone) localStorage.setItem(KEPT, button.dataset.zone);
      else localStorage.removeItem(KEPT);
      tellZone();
      location.reload();
    });
  }
});
