"use strict";
// The docs page can be read without this. It adds a search, opens what a link names, sends calls with a token,
// and gives the examples the address of this server.

const root = new URL(".", document.baseURI);
const token = document.getElementById("token");

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Links into closed parts.

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.matches("details")) target.open = true;
  target.scrollIntoView();
}

// Search.

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of document.querySelectorAll(".group")) {
    let shown = 0;
    for (const part of group.querySelectorAll(":scope > details")) {
      const text = part.textContent.toLowerCase();
      part.hidden = !wanted.every((word) => text.includes(word));
      shown += part.hidden ? 0 : 1;
    }
    group.hidden = shown === 0;
    found += shown;
  }
  document.querySelector(".nothing").hidden = found > 0;
}

// Try it.

let fetched;

async function operations() {
  fetched ??= fetch(new URL("openapi.json", root)).then((answer) => answer.json());
  const found = new Map();
  for (const [path, methods] of Object.entries((await fetched).paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      found.set(operation.operationId, { path, method: method.toUpperCase(), operation });
    }
  }
  return found;
}

function field(parameter) {
  const input = element("input", { name: parameter.name, placeholder: parameter.required ? "required" : "" });
  if (parameter.in === "path" && parameter.name === "id") input.value = "last";
  input.dataset.place = parameter.in;
  return element("label", {}, `${parameter.name} (${parameter.in})`, input);
}

function bodyFields(content) {
  const media = element("select", { name: "media" }, ...Object.keys(content).reverse().map((name) => element("option", {}, name)));
  const examples = Object.values(content["application/json"]?.examples ?? {});
  const text = examples.length ? JSON.stringify(examples[0].value, null, 2) : "";
  const body = element("textarea", { name: "body", value: text, spellcheck: false });
  return [element("label", {}, "Content-Type", media), element("label", {}, "body", body)];
}

async function build(place) {
  const { path, method, operation } = (await operations()).get(place.dataset.call);
  const send = element("button", { textContent: `Send ${method}`, className: method === "GET" ? "" : "changes" });
  const form = element("form", {}, element("h3", {}, "Try it"), ...operation.parameters.map(field));
  if (operation.requestBody) form.append(...bodyFields(operation.requestBody.content));
  form.append(send);
  const output = element("div");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    output.replaceChildren(...(await call(path, method, form)));
    send.disabled = false;
  });
  place.replaceChildren(form, output);
}

function request(path, method, form) {
  const headers = token.value ? { Authorization: `Bearer ${token.value.trim()}` } : {};
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("input")) {
    if (input.dataset.place === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (!input.value) continue;
    else if (input.dataset.place === "header") headers[input.name] = input.value;
    else query.append(input.name, input.value);
  }
  const body = form.elements.body?.value;
  if (body) headers["Content-Type"] = form.elements.media.value;
  const address = new URL(path.slice(1) + (query.size ? `?${query}` : ""), root);
  return [address, { method, headers, body: body || undefined }];
}

async function call(path, method, form) {
  try {
    const answer = await fetch(...request(path, method, form));
    const status = element("p", { className: "status" }, element("b", {}, `${answer.status} ${answer.statusText}`));
    status.append(` ${answer.headers.get("Content-Type") ?? ""}`);
    return [status, element("pre", {}, await shown(answer))];
  } catch (error) {
    return [element("p", { className: "status" }, `No answer: ${error.message}`)];
  }
}

const SHOWN = 100000;

async function shown(answer) {
  const type = answer.headers.get("Content-Type") ?? "";
  if (!/json|text|csv/.test(type)) {
    const bytes = (await answer.blob()).size;
    return bytes ? `${bytes.toLocaleString()} bytes: use curl to save them.` : "";
  }
  const text = await answer.text();
  const whole = /[/+]json/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return whole.length > SHOWN ? `${whole.slice(0, SHOWN)}\n… ${whole.length.toLocaleString()} characters` : whole;
}

// Examples.

const USUAL = "http://127.0.0.1:8000";

function nameThisServer() {
  const here = root.href.replace(/\/$/, "");
  for (const example of document.querySelectorAll("pre > code")) {
    if (example.textContent.includes(USUAL)) example.textContent = example.textContent.replaceAll(USUAL, here);
  }
}

// Start.

nameThisServer();

document.querySelector(".tools").hidden = false;
document.querySelector(".tools").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("search").addEventListener("input", (event) => search(event.target.value));
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
for (const part of document.querySelectorAll("details.call")) {
  part.addEventListener("toggle", () => {
    const place = part.querySelector(".try");
    if (!part.open || !place.hidden) return;
    place.hidden = false;
    build(place);
  });
}
addEventListener("hashchange", openTarget);
openTarget();
