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
  const fresh = new DOMParser().parseFromString(await response.text().catch(() => ""), "text/html");
  if (!response.ok || !fresh.getElementById("main"))
    return say(`${reasonIn(fresh) || `The server answered ${response.status}.`} ${KEPT}`);
  say("");
  document.title = fresh.title;
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

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const WAYS = {
  cli: (urls, options) => ["shoal submit", ...urls.map(quoted),
    ...Object.entries(options).map(([name, value]) => `--${name.replaceAll("_", "-")} ${quoted(String(value))}`)].join(" "),
  curl: (urls, options) => `curl -H "Authorization: Bearer $SHOAL_TOKEN" -H 'Content-Type: application/json' ` +
    `-d ${quoted(JSON.stringify({ urls, ...options }))} ${location.origin}/api/v1/jobs`,
  python: (urls, options) => `from shoal.client import Client\n\nClient("${location.origin}", "shoal_…").submit(` +
    `${JSON.stringify(urls)}${Object.entries(options).map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("")})`,
};

for (const form of document.querySelectorAll("form[data-copy]")) {
  form.querySelector(".copies").hidden = false;
  form.addEventListener("click", async (event) => {
    const way = WAYS[event.target.dataset?.as];
    if (!way) return;
    const given = Object.fromEntries([...new FormData(form)].filter(([name, value]) => value && name !== "form_key"));
    const { urls = "", rules, ...options } = given;
    for (const name of ["rate", "max_pages", "max_depth"]) if (name in options) options[name] = Number(options[name]);
    const text = way(urls.split(/\s+/).filter(Boolean), options) + (rules ? "  # and the rules as a file" : "");
    form.querySelector("output").textContent = text;
    await navigator.clipboard?.writeText(text).catch(() => {});
  });
}

if (main.hasAttribute("data-live")) run();
