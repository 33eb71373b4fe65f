// Shows each time as whoever reads the page would say it, "today, 14:05", and holds a button back until it is of use.
// Without this script the page has the date with its zone, and its buttons work at once.

// In the language of the page, with the reader's own habits of day, month and clock.
const language = document.documentElement.lang;
const reader = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions();
const locale = reader.locale.startsWith(language) ? reader.locale : language;
const { hourCycle } = reader;
/** "9:30 AM", and "09:30" where a day has 24 hours. */
const HOUR = { hour: hourCycle === "h12" ? "numeric" : "2-digit", minute: "2-digit", hourCycle };

for (const time of document.querySelectorAll("time")) time.textContent = inWords(new Date(time.dateTime));
for (const button of document.querySelectorAll("a[data-wait]"))
  holdBack(button, Number(button.dataset.wait) * 1000);

function inWords(at) {
  const hour = new Intl.DateTimeFormat(locale, HOUR);
  return `${dayOf(at)}, ${hour.format(at).replace(" ", "\u00a0")}`; // "PM" stays on the line
}

function dayOf(at) {
  const days = Math.round((midnightBefore(at) - midnightBefore(new Date())) / 86_400_000);
  if (Math.abs(days) <= 1)
    return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(days, "day");
  return new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" }).format(at);
}

function midnightBefore(at) {
  return new Date(at).setHours(0, 0, 0, 0);
}

/** A link without an address cannot be followed. It counts down, and gets its address back. */
function holdBack(button, forMs) {
  const { href, textContent: label } = button;
  const endsAt = Date.now() + forMs;
  const timer = setInterval(tick, 1000);
  button.removeAttribute("href");
  button.setAttribute("role", "link");
  button.setAttribute("aria-disabled", "true");
  tick();

  function tick() {
    const left = Math.ceil((endsAt - Date.now()) / 1000);
    if (left > 0) {
      button.textContent = `${label} in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
      return;
    }
    clearInterval(timer);
    button.href = href;
    button.removeAttribute("aria-disabled");
    button.textContent = label;
    // Read out, for those who do not see the button change.
    document.querySelector("[role=status]").textContent = `You can go on now: ${label}`;
  }
}
