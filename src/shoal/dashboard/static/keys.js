// Keys for people who keep their hands on the keyboard. The dialog of `?` lists them.
const WAIT_MS = 2000;
let wentAt = -WAIT_MS;

function links() {
  return [...document.querySelectorAll("main tbody a, main tbody button")].filter((link) => link.offsetParent);
}

function step(by) {
  const all = links();
  const place = all.indexOf(document.activeElement);
  all[place < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(place + by, 0), all.length - 1)]?.focus();
}

function tab(by) {
  const all = [...document.querySelectorAll(".tabs a")];
  const here = all.findIndex((link) => link.hasAttribute("aria-current"));
  if (here >= 0) all[here + by]?.click();
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => document.querySelector("[data-search], main [name=url], main [name=urls]")?.focus(),
  "[": () => tab(-1),
  "]": () => tab(1),
  "?": () => document.getElementById("keys")?.showModal(),
};
const PLACES = { j: "/", f: "/fleet" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select, dialog *")) return;
  const place = event.timeStamp - wentAt < WAIT_MS && PLACES[event.key];
  wentAt = event.key === "g" ? event.timeStamp : -WAIT_MS;
  const act = place ? () => location.assign(place) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
