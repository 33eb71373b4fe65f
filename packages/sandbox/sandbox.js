/**
 * The script of the console's page: puts the pieces that the service sends in their places, ticks the countdowns,
 * presses the buttons. All HTML is made, and escaped, on the server, in src/console.
 */

const pageToken = document.querySelector('meta[name="page-token"]').content;
const byId = (id) => document.getElementById(id);
// The sandbox may run on a clock of its own, so countdowns go by its time and not by the browser's.
let serviceAhead = Number(document.querySelector('meta[name="service-now"]').content) - Date.now();

const events = new EventSource("/console/events");
events.onopen = () => showLive("Live", "on");
events.onerror = () => showLive("Not running. Waiting for the sandbox…", "off");
events.addEventListener("overview", (event) => put(read(event)));
events.addEventListener("store", (event) => {
  const piece = read(event);
  put(piece);
  if (!shownStore() || piece.id === `store-${shownStore()}`) redrawTimeline();
});
events.addEventListener("request", (event) => {
  const { id, html } = read(event);
  const row = elementOf(html);
  // Sent again with its outcome, or after the connection was lost: the same line changes.
  const old = byId(id);
  if (old) return old.replaceWith(row);
  const list = byId("requests");
  row.classList.add("new");
  list.prepend(row);
  while (list.children.length > 200) list.lastElementChild.remove();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-timeline]");
  // With a key held down the person wants the link in a tab of its own.
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    showStore(link.dataset.timeline);
    return byId("timeline-title").focus();
  }
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.action) return press(button);
  if (button.dataset.copy) return copy(button, button.dataset.copy);
  if (button.id === "token-copy") return copy(button, byId("token-value").textContent);
  if (button.id === "token-close") return closeToken();
});
byId("token-dialog").addEventListener("close", closeToken);
byId("timeline-store").addEventListener("change", (event) => showStore(event.target.value));

setInterval(tick, 1000);
tick();

function shownStore() {
  return byId("timeline").dataset.store;
}

// The address keeps the choice, for a reload and for others.
function showStore(domainPrefix) {
  byId("timeline").dataset.store = domainPrefix;
  history.replaceState(null, "", `/?store=${encodeURIComponent(domainPrefix)}`);
  redrawTimeline();
}

let redrawing = false;
let redrawAgain = false;
// One question at a time, so that no older answer comes after a newer one.
async function redrawTimeline() {
  redrawAgain = true;
  if (redrawing) return;
  redrawing = true;
  while (redrawAgain) {
    redrawAgain = false;
    try {
      const asked = shownStore() ? `?store=${encodeURIComponent(shownStore())}` : "";
      const response = await fetch(`/console/timeline${asked}`);
      const piece = await response.json();
      // Not if another store was chosen until now: the old one would take its place.
      if (!redrawAgain) showTimeline(piece);
    } catch {
      // The sandbox has ended. The events have as well, and the page says so.
    }
  }
  redrawing = false;
}

function showTimeline(piece) {
  const panel = byId("timeline");
  panel.dataset.store = piece.store;
  panel.hidden = !piece.store;
  byId("timeline-store").value = piece.store;
  const scrolled = byId("timeline-story")?.scrollTop;
  put(piece);
  if (scrolled) byId("timeline-story")?.scrollTo(0, scrolled);
}

async function press(button) {
  const { action, user } = button.dataset;
  const domainPrefix = button.closest("[data-store]").dataset.store;
  try {
    const response = await fetch("/console/actions", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page-Token": pageToken },
      body: JSON.stringify({ action, domainPrefix, user }),
    });
    const { said, token, error } = await response.json();
    say(said || error);
    if (token) showToken(token);
  } catch {
    say("The sandbox does not answer. Is it still running?");
  }
}

function showToken(token) {
  byId("token-value").textContent = token;
  byId("token-dialog").showModal();
}

// A token is shown once: closing the dialog, also with Escape, takes it off the page.
function closeToken() {
  byId("token-value").textContent = "";
  byId("token-dialog").close();
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}

// Replaces a piece by its new version. Open parts stay open and the focus stays, or a person could not go on.
function put({ id, html }) {
  const old = byId(id);
  if (!old) return;
  const next = elementOf(html);
  const alarm = next.querySelector("[data-alarm]");
  const known = old.querySelector("[data-alarm]")?.dataset.alarm;
  if (alarm && alarm.dataset.alarm !== known) say(alarm.textContent);
  for (const details of old.querySelectorAll("details[open]")) {
    const same = next.querySelector(`#${CSS.escape(details.id)}`);
    if (same) same.open = true;
  }
  const focused = old.contains(document.activeElement) && document.activeElement.id;
  old.replaceWith(next);
  if (focused) {
    const same = byId(focused);
    const fallback = next.querySelector(".actions button:not([disabled])");
    (same && !same.disabled ? same : fallback)?.focus({ preventScroll: true });
  }
  tick();
}

function read(event) {
  const data = JSON.parse(event.data);
  serviceAhead = data.now - Date.now();
  return data;
}

function elementOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content.firstElementChild;
}

function tick() {
  const now = Date.now() + serviceAhead;
  for (const countdown of document.querySelectorAll("[data-until]")) {
    const left = Number(countdown.dataset.until) - now;
    countdown.classList.toggle("over", left <= 0);
    countdown.firstElementChild.textContent = left > 0 ? clockWords(left) : countdown.dataset.over;
    const bar = countdown.querySelector("progress");
    if (bar) bar.value = Math.max(0, left);
  }
  const body = byId("timeline-body");
  if (body.dataset.changesAt && Number(body.dataset.changesAt) <= now) {
    body.dataset.changesAt = "";
    redrawTimeline();
  }
}

// Minutes and seconds, with the hours before them if there are any.
function clockWords(ms) {
  const seconds = Math.ceil(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const parts = [Math.floor((seconds % 3600) / 60), seconds % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return (hours > 0 ? `${hours}:` : "") + parts.join(":");
}

let forget;
function say(words) {
  byId("said").textContent = words;
  clearTimeout(forget);
  forget = setTimeout(() => {
    byId("said").textContent = "";
  }, 6000);
}

function showLive(words, state) {
  byId("live").textContent = words;
  byId("live").dataset.state = state;
}
