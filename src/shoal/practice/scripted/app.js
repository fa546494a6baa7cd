"use strict";
// Shows the shop's products in the way that the body's data-mode names. They come from a JSON API, page by page.

const page = document.body.dataset;
const app = document.getElementById("app");
const first = page.api || "/api/products?page=1";

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function card(product) {
  const name = escaped(product.name);
  return `<article class="product_pod" data-upc="${product.upc}"><img src="/app/photo/${product.upc}.svg" alt="">` +
    `<h3><a href="/app${product.url}" title="${name}">${name}</a></h3>` +
    `<p class="price_color">${escaped(product.price)}</p><p class="stock">${product.stock}</p></article>`;
}

async function read(url, options) {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.json();
}

// Adds one page of products; returns the URL of the next one.
async function addPage(url, list = app) {
  const found = await read(url);
  list.insertAdjacentHTML("beforeend", found.products.map(card).join(""));
  return found.next && (page.api ? found.next.replace("/api/products", page.api.split("?")[0]) : found.next);
}

async function addAll(list = app) {
  let url = first;
  while (url) url = await addPage(url, list);
  document.body.dataset.done = "all";
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// A custom element inside a shadow root, with a shadow root of its own.
function defineShadow(kind) {
  customElements.define("product-card", class extends HTMLElement {
    set product(product) {
      this.attachShadow({ mode: kind }).innerHTML = card(product);
    }
  });
  customElements.define("product-list", class extends HTMLElement {
    async connectedCallback() {
      const root = this.attachShadow({ mode: kind });
      for (let url = first; url;) {
        const found = await read(url);
        for (const product of found.products) {
          const element = document.createElement("product-card");
          element.product = product;
          root.append(element);
        }
        url = found.next;
      }
      document.body.dataset.done = "all";
    }
  });
  app.append(document.createElement("product-list"));
}

const modes = {
  list: () => addAll(),

  async scroll() {
    const end = document.createElement("div");
    end.id = "end";
    app.after(end);
    let url = await addPage(first);
    const seen = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return;
      seen.unobserve(end);
      if (url) url = await addPage(url);
      if (url) seen.observe(end);
      else document.body.dataset.done = "all";
    });
    seen.observe(end);
  },

  async more() {
    const button = document.createElement("button");
    button.id = "more";
    button.textContent = "Load more";
    let url = await addPage(first);
    button.onclick = async () => {
      button.disabled = true;
      url = await addPage(url);
      button.disabled = false;
      if (!url) button.remove();
    };
    if (url) app.after(button);
  },

  async late() {
    await wait(Number(page.after));
    await addAll();
  },

  // The list is complete, but the network never rests.
  async poll() {
    await addAll();
    for (;;) await read("/app/api/poll");
  },

  // The server has already sent the list; this replaces it by the same one.
  either() {
    app.innerHTML = JSON.parse(document.getElementById("state").textContent).map(card).join("");
    document.body.dataset.done = "all";
  },

  shadow: () => defineShadow(page.root),

  async routed() {
    history.pushState({}, "", "/app/routed/products");
    await addAll();
  },

  async where() {
    const facts = {
      language: navigator.language,
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      noon: new Date(Date.UTC(2026, 0, 5, 12)).toLocaleString(),
      width: innerWidth,
      layout: matchMedia("(max-width: 600px)").matches ? "phone" : "desk",
      touch: String(navigator.maxTouchPoints > 0),
      agent: navigator.userAgent,
    };
    for (const [name, value] of Object.entries(facts)) {
      const line = document.createElement("p");
      line.id = name;
      line.textContent = value;
      app.before(line);
    }
    await addAll();
  },

  async frame() {
    await addPage(first);
  },

  async product() {
    const found = await read(`/app/api${location.pathname.slice("/app".length)}`);
    document.title = found.name;
    app.innerHTML = `<article class="product_page" data-upc="${found.upc}"><h1>${escaped(found.name)}</h1>` +
      `<p class="price_color">${escaped(found.price)}</p><p class="stock">${found.stock}</p></article>`;
  },

  login() {
    const form = document.createElement("form");
    form.innerHTML = '<input name="user"><input name="password" type="password"><select name="branch">' +
      '<option value="">Which branch?</option><option value="here">This one</option></select><button>Log in</button>' +
      '<p id="message"></p>';
    app.append(form);
    form.onsubmit = async (event) => {
      event.preventDefault();
      const body = JSON.stringify(Object.fromEntries(new FormData(form)));
      const answer = await fetch("/app/api/login", { method: "POST", body });
      const told = await answer.json();
      if (!answer.ok) return void (form.querySelector("#message").textContent = told.error);
      document.cookie = `app_token=${told.token}; path=/app`;
      location.href = "/app/orders.html";
    };
  },

  async orders() {
    const token = (document.cookie.match(/app_token=(\w+)/) || [])[1];
    const answer = await fetch("/app/api/orders", { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    if (answer.status === 401) return location.replace("/app/login.html");
    const rows = (await answer.json()).orders.map((order) =>
      `<tr><td class="number">${order.number}</td><td>${escaped(order.name)}</td><td class="total">${order.total}</td></tr>`);
    app.innerHTML = `<table id="orders">${rows.join("")}</table>`;
  },
};

modes[page.mode]();
