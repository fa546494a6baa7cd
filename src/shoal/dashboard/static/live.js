// Keeps the open page current: fetches it again and changes only what differs, so that scroll, selection and focus stay.
const EVERY_MS = 3000, HIDDEN_MS = 30000, LATE_MS = 60000, NOTICED_MS = 4000, REACHED_MS = 4000;
const notice = document.getElementById("connection");
const main = document.getElementById("main");

const KEPT = "This page shows what was last known.";

function say(text, ...rest) {
  if (notice.textContent !== text + rest.map((part) => part.textContent ?? part).join("")) notice.replaceChildren(text, ...rest);
  notice.hidden = !text;
}

let unansweredSince = 0;

// A screen reader reads the notice once, not each second: it skips the time.
function saySilence() {
  const time = document.createElement("span"), seconds = Math.round((Date.now() - unansweredSince) / 1000);
  time.setAttribute("aria-hidden", "true");
  time.textContent = ` for ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`}`;
  const shown = notice.querySelector("[aria-hidden]");
  if (shown && !notice.hidden) shown.textContent = time.textContent;
  else say(`No answer from ${location.host}`, time, `; still trying. ${KEPT}`);
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

function isReached() {
  const asked = { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(REACHED_MS) };
  return fetch(import.meta.url, asked).then(() => true, () => false);
}

// A page may take long to make; a small file does not. A server that vanished never answers what it was asked before, not
// even when it is back: the request is given up as soon as the file is not answered either.
async function fetchPage() {
  const given = new AbortController(), late = AbortSignal.timeout(LATE_MS);
  late.addEventListener("abort", () => given.abort());
  const watch = setInterval(async () => (await isReached()) || given.abort(), NOTICED_MS);
  try {
    const response = await fetch(location.href, { signal: given.signal, headers: { Accept: "text/html" } });
    return [response, await response.text()];
  } finally {
    clearInterval(watch);
  }
}

async function refresh() {
  unansweredSince ||= Date.now();
  let response, text;
  try {
    [response, text] = await fetchPage();
  } catch {
    return saySilence();
  }
  unansweredSince = 0;
  if (response.redirected && new URL(response.url).pathname.endsWith("/login"))
    return say("You are logged out. This page shows what was last known. ", loginLink());
  const fresh = parsed(text);
  if (!response.ok || !fresh.getElementById("main"))
    return say(`${reasonIn(fresh) || `The server answered ${response.status}.`} ${KEPT} It tries again.`);
  say("");
  document.title = fresh.title;
  renewKeys(fresh);
  patchChildren(main, fresh.getElementById("main"));
}

async function run() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? HIDDEN_MS : EVERY_MS));
    if (!unansweredSince || await isReached()) await refresh();
  }
}

setInterval(() => {
  if (unansweredSince && Date.now() - unansweredSince >= NOTICED_MS) saySilence();
}, 1000);

const UNSENT = `Not sent: no answer from ${location.host}. Press again when it answers.`;

function sayBeside(form, button, text) {
  form.querySelector(".unsent")?.remove();
  if (!text) return;
  const said = document.createElement("small");
  said.className = "unsent";
  said.setAttribute("role", "alert");
  said.textContent = text;
  if (button) button.after(said);
  else form.append(said);
}

// A form that is sent to a server that is silent would leave the page: for a browser's error, or for nothing.
async function submitIfReached(form, button) {
  form.isSending = true;
  const late = setTimeout(() => sayBeside(form, button, "Sending…"), 500);
  const reached = await isReached();
  clearTimeout(late);
  form.isSending = false;
  sayBeside(form, button, reached ? "" : UNSENT);
  if (!reached) return;
  form.isReached = true;
  form.requestSubmit(button);
  form.isReached = false;
}

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (form.isReached || form.method !== "post" || submitter?.name === "preview") return;
  event.preventDefault();
  if (form.isSending || form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  submitIfReached(form, submitter);
});

async function ask(form, button, accept) {
  const body = new URLSearchParams(new FormData(form));
  if (button.name) body.set(button.name, button.value);
  if (!(await isReached())) throw new Error(UNSENT);
  const response = await fetch(button.getAttribute("formaction") || form.action, { method: "POST", body, headers: { Accept: accept } });
  if ((response.headers.get("Content-Type") || "").startsWith(accept)) return response;
  if (response.redirected) throw new Error("You are logged out.");
  throw new Error(reasonIn(parsed(await response.text())) || `The server answered ${response.status}.`);
}

async function tell(output, answer) {
  output.textContent = "…";
  output.textContent = await answer().catch((error) => error instanceof TypeError ? UNSENT : error.message);
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
