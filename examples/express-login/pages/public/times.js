// Shows times by the reader's clock, and holds a button back until it is of use. Without this script both work too.
for (const time of document.querySelectorAll("time.clock"))
  time.textContent = new Date(time.dateTime).toLocaleTimeString([], { timeStyle: "short" });

for (const button of document.querySelectorAll("a[data-wait]")) {
  const { href, textContent: label } = button;
  const endsAt = Date.now() + Number(button.dataset.wait) * 1000;
  const timer = setInterval(tick, 1000);
  button.removeAttribute("href"); // a link without an address cannot be followed
  button.role = "link";
  tick();

  function tick() {
    const left = Math.ceil((endsAt - Date.now()) / 1000);
    button.textContent = `${label} in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    button.ariaDisabled = String(left > 0);
    if (left > 0) return;
    clearInterval(timer);
    button.href = href;
    button.textContent = label;
    document.querySelector("[role=status]").textContent = `You can go on now: ${label}`;
  }
}
