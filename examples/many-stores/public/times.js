// Shows each time in the reader's own zone, and holds a button back until it is of use. Without this script the page
// has the time in UTC, and its buttons work at once.

const words = new Intl.DateTimeFormat("en", {
  weekday: "long",
  day: "numeric",
  month: "long",
  hour: "numeric",
  minute: "2-digit",
});
for (const time of document.querySelectorAll("time"))
  time.textContent = words.format(new Date(time.dateTime));
for (const button of document.querySelectorAll("a[data-wait]"))
  holdBack(button, Number(button.dataset.wait) * 1000);

/** A link without an address cannot be followed. It counts down, and gets its address back. */
function holdBack(button, forMs) {
  const { href, textContent: label } = button;
  const endsAt = Date.now() + forMs;
  const timer = setInterval(tick, 1000);
  button.removeAttribute("href");
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
