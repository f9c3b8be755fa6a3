// "Check" on another page of the panel opens this one, which then sends its form by itself: the check is a POST. A page that
// is not the panel's cannot start it (Referrer-Policy is same-origin, so only the panel's own pages leave a referrer).
document.addEventListener("DOMContentLoaded", () => {
  if (document.referrer.startsWith(`${location.origin}/`)) document.querySelector("[data-submit-on-opening]").submit();
});
