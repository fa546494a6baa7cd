// Keeps the open page current: fetches it again and changes only what differs, so that scroll, selection and focus stay.
const EVERY_MS = 3000, HIDDEN_MS = 30000, LATE_MS = 15000;
const notice = document.getElementById("connection");
const main = document.getElementById("main");

const KEPT = "This page shows what was last known, and tries again.";

function say(text, ...links) {
  if (notice.textContent !== text + links.map((link) => link.textContent).join("")) notice.replaceChildren(text, ...links);
  notice.hidden = !text;
}

function loginLink() {
  const link = document.createElement("a");
  link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = "Log in";
  return link;
}

function isBusy(node) {
  return node.nodeType === 1 && (node.hasAttribute("data-static") || node.contains(document.activeElement) &&
    document.activeElement.matches("input, textarea, select"));
}

function patch(old, fresh) {
  if (old.isEqualNode(fresh) || isBusy(old)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || (old.id || "") !== (fresh.id || "")) {
    old.replaceWith(fresh.cloneNode(true));
    return;
  }
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  patchChildren(old, fresh);
}

function patchChildren(old, fresh) {
  const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const wanted of fresh.childNodes) {
    const known = wanted.id && byId.get(wanted.id);
    if (known && known !== place) old.insertBefore(known, place);
    const current = known || place;
    if (!current || (current.id && current.id !== wanted.id)) {
      old.insertBefore(wanted.cloneNode(true), place);
      continue;
    }
    place = current.nextSibling;
    patch(current, wanted);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function parsed(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

// Forms that keep what is typed are not patched. After a login in another tab their key would be an old one.
function renewKeys(fresh) {
  const key = fresh.querySelector("[name=form_key]")?.value;
  if (key) for (const field of document.querySelectorAll("[name=form_key]")) field.value = key;
}

function reasonIn(page) {
  const reason = page.querySelector("[role=alert]")?.textContent.trim();
  return reason && reason[0].toUpperCase() + reason.slice(1) + ".";
}

async function refresh() {
  let response;
  try {
    response = await fetch(location.href, { signal: AbortSignal.timeout(LATE_MS), headers: { Accept: "text/html" } });
  } catch {
    return say(`The server does not answer. ${KEPT}`);
  }
  if (response.redirected && new URL(response.url).pathname.endsWith("/login"))
    return say("You are logged out. This page shows what was last known. ", loginLink());
  const fresh = parsed(await response.text().catch(() => ""));
  if (!response.ok || !fresh.getElementById("main"))
    return say(`${reasonIn(fresh) || `The server answered ${response.status}.`} ${KEPT}`);
  say("");
  document.title = fresh.title;
  renewKeys(fresh);
  patchChildren(main, fresh.getElementById("main"));
}

async function run() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? HIDDEN_MS : EVERY_MS));
    await refresh();
  }
}

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

async function ask(form, button, accept) {
  const body = new URLSearchParams(new FormData(form));
  if (button.name) body.set(button.name, button.value);
  const response = await fetch(button.getAttribute("formaction") || form.action, { method: "POST", body, headers: { Accept: accept } });
  if ((response.headers.get("Content-Type") || "").startsWith(accept)) return response;
  if (response.redirected) throw new Error("You are logged out.");
  throw new Error(reasonIn(parsed(await response.text())) || `The server answered ${response.status}.`);
}

async function tell(output, answer) {
  output.textContent = "…";
  output.textContent = await answer().catch((error) => error instanceof TypeError ? "The server does not answer." : error.message);
}

// A preview is shown beside what was typed, which stays.
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event, output = form.querySelector("output");
  if (submitter?.name !== "preview" || !output) return;
  event.preventDefault();
  tell(output, async () => (await ask(form, submitter, "text/plain")).text());
});

for (const form of document.querySelectorAll("form[data-copy]")) {
  const copies = form.querySelector(".copies"), output = form.querySelector("output");
  copies.hidden = false;
  copies.addEventListener("click", (event) => {
    const way = event.target.dataset?.as;
    if (way) tell(output, async () => {
      const text = (await (await ask(form, event.target, "application/json")).json())[way];
      await navigator.clipboard?.writeText(text).catch(() => {});
      return text;
    });
  });
}

if (main.hasAttribute("data-live")) run();
