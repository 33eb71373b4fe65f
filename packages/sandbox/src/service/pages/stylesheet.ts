/**
 * How console and consent page look: paper, ink and one green, the requests on a
 * till roll. System fonts, light and dark, down to the width of a phone.
 */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --paper: #f5f3ee; --card: #fffefb; --raised: #faf8f3;
  --ink: #1e211d; --quiet: #5c6259; --line: #e0dcd1; --edge: #c9c4b6;
  --accent: #0d6b57; --accent-ink: #ffffff; --accent-hover: #0a5747;
  --good: #0b5f43; --good-bg: #dcefe4;
  --warn: #754800; --warn-bg: #fbecc9;
  --bad: #a02a14; --bad-bg: #fbe3dc;
  --wait: #3b4f86; --wait-bg: #e3e8f7; --wait-ink: #ffffff;
  --shadow: 0 1px 2px rgb(40 36 24 / .06), 0 8px 24px -12px rgb(40 36 24 / .14);
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #121412; --card: #1b1e1b; --raised: #212521;
    --ink: #ebeee8; --quiet: #a3aaa0; --line: #2d322d; --edge: #434a43;
    --accent: #55c7a7; --accent-ink: #07251d; --accent-hover: #74d6bb;
    --good: #8fe0bf; --good-bg: #14382c;
    --warn: #f2cd86; --warn-bg: #3b2d10;
    --bad: #ffb3a0; --bad-bg: #46211a;
    --wait: #b9c8f5; --wait-bg: #252e4a; --wait-ink: #131a2e;
    --shadow: 0 1px 2px rgb(0 0 0 / .4);
  }
}

*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.5 var(--sans); -webkit-text-size-adjust: 100%; }
h1, h2, p, dl, dd, ol, ul, fieldset { margin: 0; padding: 0; border: 0; }
p { text-wrap: pretty; }
h1, h2 { font-weight: 650; letter-spacing: -.015em; line-height: 1.25; text-wrap: balance; }
ol, ul { list-style: none; }
code { font: .875em/1.4 var(--mono); }
a { color: var(--accent); text-underline-offset: .18em; }
small { font-size: .8125rem; }
.quiet { color: var(--quiet); font-weight: 450; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

button {
  font: 550 .875rem/1.25 var(--sans); color: var(--ink); background: var(--card);
  border: 1px solid var(--edge); border-radius: .5rem; padding: .5rem .75rem; min-height: 2.25rem; cursor: pointer;
}
button:hover:not(:disabled) { border-color: var(--quiet); background: var(--raised); }
button:active:not(:disabled) { transform: translateY(1px); }
button:disabled { color: var(--quiet); border-color: var(--line); background: none; cursor: not-allowed; opacity: .7; }
button.primary { color: var(--accent-ink); background: var(--accent); border-color: var(--accent); }
button.primary:hover:not(:disabled) { background: var(--accent-hover); border-color: var(--accent-hover); }

.panel, .sheet { background: var(--card); border: 1px solid var(--line); border-radius: .875rem; box-shadow: var(--shadow); }
.avatar {
  flex: none; display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: .625rem;
  font-weight: 650; font-size: 1.0625rem; color: #23201a;
}
.tint-0 { background: #e8c9a5; } .tint-1 { background: #b9cbe8; } .tint-2 { background: #f0b7a8; }
.tint-3 { background: #b8d8b0; } .tint-4 { background: #f1d98a; } .tint-5 { background: #d3c0e2; }
.tag {
  flex: none; font-size: .75rem; font-weight: 600; line-height: 1; padding: .375rem .5625rem; border-radius: 1rem;
  color: var(--quiet); background: var(--raised); border: 1px solid var(--line); white-space: nowrap;
}
.tag.good { color: var(--good); background: var(--good-bg); border-color: transparent; }
.tag.bad { color: var(--bad); background: var(--bad-bg); border-color: transparent; }
.tag.wait { color: var(--wait); background: var(--wait-bg); border-color: transparent; }
b.bad { color: var(--bad); font-weight: 600; }

.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

/* The consent page, and the page for problems */
.consent { display: grid; grid-template-columns: minmax(0, 1fr); place-items: center; min-height: 100vh; padding: 1.5rem 1rem; }
.sheet { width: 100%; max-width: 29rem; padding: 2rem; }
.sheet header p:last-child,  .sheet.problem p:last-child { margin-top: .75rem; color: var(--quiet); }
.sheet.problem p { overflow-wrap: anywhere; }
.sheet h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
.sheet .brand { font-size: .9375rem; margin-bottom: 1.25rem; }
.sheet code { overflow-wrap: anywhere; color: var(--ink); }
.sheet h1 b { display: inline-block; font-weight: 700; max-width: 100%; }
.sheet fieldset { margin-top: 1.5rem; min-width: 0; }
.sheet legend { font-weight: 600; font-size: .9375rem; margin-bottom: .5rem; padding: 0; }
.choices { display: grid; gap: .5rem; margin: 0 -.375rem; padding: .25rem .375rem; }
.choices.scrolling { max-height: min(27rem, 52vh); overflow-y: auto; }
.choice-name small { display: flex; flex-wrap: wrap; gap: 0 .625rem; }
.choices i { font: 500 .8125rem/1.35 var(--sans); color: var(--good); white-space: nowrap; }
.choice {
  display: flex; align-items: center; gap: .75rem; padding: .625rem .75rem; cursor: pointer;
  border: 1px solid var(--line); border-radius: .75rem; background: var(--card);
}
.choice:hover { border-color: var(--edge); background: var(--raised); }
.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); background: var(--raised); }
.choice:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }
.choice:has(:disabled) { opacity: .5; cursor: not-allowed; }
.choice input { flex: none; width: 1.125rem; height: 1.125rem; margin: 0; accent-color: var(--accent); outline: none; }
.choice .avatar { width: 2.125rem; height: 2.125rem; font-size: .9375rem; }
.choice-name { flex: 1; min-width: 0; font-weight: 550; line-height: 1.3; overflow-wrap: anywhere; }
.choice-name small, .store h2 small { font: 400 .8125rem/1.35 var(--mono); letter-spacing: 0; color: var(--quiet); overflow-wrap: anywhere; }
.note { margin-top: 1rem; padding: .75rem; border-radius: .625rem; font-size: .875rem; color: var(--warn); background: var(--warn-bg); }
.decide {
  display: flex; gap: .625rem; margin-top: .75rem; padding: .75rem 0; position: sticky; bottom: 0; background: var(--card);
}
.decide button { min-height: 2.75rem; padding: .625rem 1.25rem; font-size: .9375rem; }
.decide .primary { flex: 1; }
.sheet footer { margin-top: 1.5rem; padding-top: 1rem; border-top: 1px dashed var(--edge); font-size: .8125rem; color: var(--quiet); }
.sheet footer b { color: var(--ink); font-weight: 550; }

/* The console */
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; background: var(--card); padding: .5rem .75rem; border-radius: .5rem; }
.top {
  display: flex; flex-wrap: wrap; align-items: center; gap: .75rem 2rem;
  padding: .875rem clamp(1rem, 3vw, 2.5rem); border-bottom: 1px solid var(--line); background: var(--card);
}
.brand { display: flex; align-items: center; gap: .625rem; font-weight: 450; font-size: 1.0625rem; letter-spacing: -.01em; }
.brand b { font-weight: 700; margin-left: -.25rem; }
.mark { width: 1.625rem; height: 1.625rem; border-radius: .4375rem; background: var(--accent); position: relative; }
.mark::before { content: ""; position: absolute; inset: 25% 26% 45%; border: 2px solid var(--accent-ink); border-bottom: 0; border-radius: 2px 2px 0 0; }
.mark::after { content: ""; position: absolute; inset: 54% 18% 22%; background: var(--accent-ink); border-radius: 2px; }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; font-size: .8125rem; flex: 1; }
.facts div { display: flex; gap: .375rem; }
.facts dt { color: var(--quiet); }
.facts dd { font-weight: 550; font-variant-numeric: tabular-nums; }
.on-this-page { display: none; }
.live { display: flex; align-items: center; gap: .5rem; font-size: .8125rem; font-weight: 550; color: var(--quiet); }
.live::before { content: ""; width: .5rem; height: .5rem; border-radius: 50%; background: var(--edge); }
.live[data-state="on"] { color: var(--good); }
.live[data-state="on"]::before { background: currentColor; }
.live[data-state="off"] { color: var(--bad); }
.live[data-state="off"]::before { background: currentColor; }

.console {
  display: grid; gap: 2rem; grid-template-columns: minmax(0, 1fr) minmax(20rem, 26rem); align-items: start;
  max-width: 96rem; margin: 0 auto; padding: 2rem clamp(1rem, 3vw, 2.5rem) 5rem;
}
.column { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; min-width: 0; }
/* Beside the stores, and never taller than the window: the till roll scrolls by itself. */
.side { position: sticky; top: 1.5rem; display: flex; flex-direction: column; max-height: calc(100vh - 7.5rem); }
.side .tape { flex: 0 1 auto; display: flex; flex-direction: column; }
.side .tape:has(li) { min-height: 12rem; }
.side .application { flex: none; }
.overview h1 { font-size: 1.625rem; }
.overview h1 .quiet { font-size: 1rem; letter-spacing: 0; margin-left: .375rem; }
.overview > p { margin-top: .375rem; font-size: .875rem; font-weight: 400; max-width: 72ch; }
.first-steps { margin-top: 1.25rem; padding: 1.5rem; }
.first-steps h2 { font-size: 1.125rem; }
.first-steps ol { display: grid; gap: .5rem; margin-top: .875rem; counter-reset: step; max-width: 62ch; }
.first-steps li { counter-increment: step; display: block; position: relative; padding-left: 2.125rem; }
.first-steps li::before {
  content: counter(step); position: absolute; left: 0; top: .0625rem; width: 1.375rem; height: 1.375rem; border-radius: 50%;
  display: grid; place-items: center; font-size: .75rem; font-weight: 650; color: var(--good); background: var(--good-bg);
}

.stores { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(21.5rem, 100%), 1fr)); }
.stores:focus, #timeline-title:focus { outline: none; }
.stores, .tape h2, .application, .timeline { scroll-margin-top: 1rem; }
/* All cards of a row end at the same height, with their buttons in one line. */
.store { display: flex; flex-direction: column; padding: 1.125rem 1.25rem .25rem; }
.store .actions { margin-top: auto; padding-top: 1rem; }
.store > header { display: flex; align-items: center; gap: .75rem; }
.store h2 small { display: block; }
.store h2 { flex: 1; min-width: 0; font-size: 1.0625rem; overflow-wrap: anywhere; }
.nothing { margin-top: .875rem; font-size: .875rem; color: var(--quiet); }
.tokens { margin-top: 1rem; font-size: .875rem; border-top: 1px dashed var(--edge); }
.tokens > div { display: grid; grid-template-columns: 7rem auto 1fr; gap: .75rem; align-items: baseline; padding: .5rem 0; border-bottom: 1px dashed var(--edge); }
.tokens dt { color: var(--quiet); }
.left { text-align: right; font-variant-numeric: tabular-nums; }
.countdown { font-weight: 600; font-variant-numeric: tabular-nums; }
.tokens .countdown { display: inline-grid; gap: .25rem; justify-items: end; }
.countdown.over { color: var(--bad); }
progress { appearance: none; display: block; width: 6rem; height: .1875rem; border: 0; border-radius: 1rem; background: var(--line); overflow: hidden; }
progress::-webkit-progress-bar { background: var(--line); }
progress::-webkit-progress-value { background: var(--accent); }
progress::-moz-progress-bar { background: var(--accent); }
.troubles { display: flex; align-items: center; gap: .75rem; margin-top: .875rem; padding: .5rem .5rem .5rem .75rem; border-radius: .625rem; color: var(--warn); background: var(--warn-bg); }
.troubles ul { flex: 1; display: grid; gap: .25rem; font-size: .875rem; font-weight: 550; line-height: 1.35; }
.troubles .primary { font-size: .8125rem; min-height: 2rem; padding: .3125rem .875rem; }
.memo { margin-top: .875rem; padding: .5rem .75rem; border-radius: .625rem; font-size: .875rem; line-height: 1.4; color: var(--wait); background: var(--wait-bg); }
.memo:has(.over) { display: none; }
.alarm { margin-top: .875rem; padding: .625rem .75rem; border-radius: .625rem; font-size: .875rem; line-height: 1.4; color: var(--bad); background: var(--bad-bg); box-shadow: inset .25rem 0 0 var(--bad); }
.actions { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-auto-rows: 1fr; gap: .5rem; margin: 0 0 1rem; }
.actions button { font-size: .8125rem; padding: .4375rem .375rem; }
.store details { border-top: 1px solid var(--line); margin: 0 -1.25rem; padding: 0 1.25rem; }
summary { display: flex; align-items: center; gap: .5rem; padding: .75rem 0; font-size: .875rem; font-weight: 550; color: var(--quiet); cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: ""; width: .4375rem; height: .4375rem; border: solid currentColor; border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg); margin-right: .125rem; }
details[open] > summary::before { transform: rotate(45deg); }
summary:hover { color: var(--ink); }
.application summary { padding: .75rem 1.25rem; color: inherit; }
.count { font-variant-numeric: tabular-nums; padding: 0 .4375rem; border-radius: 1rem; background: var(--raised); border: 1px solid var(--line); font-size: .75rem; }
.users { display: grid; gap: .625rem; padding: .125rem 0 1rem; }
.users li { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; font-size: .875rem; }
/* The buttons below stay side by side. */
.user { flex: 1 1 100%; font-weight: 550; text-transform: capitalize; }
.user small { display: block; font-weight: 400; color: var(--quiet); text-transform: none; }
.users button { font-size: .8125rem; padding: .3125rem .4375rem; min-height: 2rem; }

.tape { padding: 1.125rem 0 0; overflow: hidden; }
.tape h2, .application h2 { font-size: 1.0625rem; }
.tape h2 { padding: 0 1.25rem; }
.roll { min-height: 0; overflow-y: auto; margin-top: .75rem; border-top: 1px dashed var(--edge); }
.roll:not(:has(li)) { display: none; }
.roll:focus-visible { outline-offset: -2px; }
.tape .nothing { padding: 0 1.25rem 1.25rem; }
.tape:has(li) .nothing { display: none; }
.tape li {
  display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .125rem .75rem; padding: .625rem 1.25rem;
  font: .8125rem/1.4 var(--mono); border-bottom: 1px dashed var(--edge);
}
.tape li:last-child { border-bottom: 0; }
.what { overflow-wrap: anywhere; }
.what b { font-weight: 650; }
.tape .status { justify-self: end; font-weight: 650; padding: 0 .4375rem; border-radius: .3125rem; font-variant-numeric: tabular-nums; color: var(--wait); background: var(--wait-bg); align-self: start; }
.tape .good .status { color: var(--good); background: var(--good-bg); }
.tape .warn .status { color: var(--warn); background: var(--warn-bg); }
.tape .bad .status { color: var(--bad); background: var(--bad-bg); }
.tape small { font: .8125rem/1.4 var(--sans); color: var(--quiet); overflow-wrap: anywhere; }
.tape time { color: var(--quiet); font-variant-numeric: tabular-nums; justify-self: end; }
@media (prefers-reduced-motion: no-preference) {
  .tape li.new { animation: print .35s ease-out; }
  @keyframes print { from { background: var(--good-bg); transform: translateY(-.5rem); opacity: 0; } }
}

/* The tokens of one store over time. What lives is drawn in full colour, and what has ended in a pale one. */
.timeline { padding: 1.125rem 1.25rem 1.25rem; min-width: 0; container-type: inline-size; }
@container (max-width: 36rem) { .tick.minor { display: none; } }
.timeline[hidden] { display: none; }
.timeline > header { display: flex; flex-wrap: wrap; align-items: center; gap: .375rem .75rem; }
/* The title takes what room there is beside the choice; below it the choice takes the whole line. */
.timeline h2 { font-size: 1.0625rem; flex: 999 1 auto; }
.timeline select { flex: 1 1 auto; }
select {
  font: 550 .875rem/1.25 var(--sans); color: var(--ink); background: var(--card); max-width: 100%; min-width: 0;
  border: 1px solid var(--edge); border-radius: .5rem; padding: .4375rem .5rem; min-height: 2.25rem;
}
.timeline .alarm { margin-top: 1rem; font-size: .9375rem; padding: .75rem 1rem; }
.chart { display: block; margin-top: 1rem; overflow: visible; font: 600 11px/1 var(--sans); font-variant-numeric: tabular-nums; }
.chart line { stroke: var(--line); }
.chart line.now { stroke: var(--quiet); stroke-dasharray: 3 3; }
.chart line.lost { stroke: var(--bad); stroke-width: 2.5; }
.chart .tick, .chart .login { fill: var(--quiet); font-weight: 450; }
.bar rect { stroke: var(--card); stroke-width: 2; }
.bar.refresh rect { fill: var(--good-bg); } .bar.refresh text { fill: var(--good); }
.bar.access rect { fill: var(--wait-bg); } .bar.access text { fill: var(--wait); }
.bar.refresh.is-live rect { fill: var(--accent); } .bar.refresh.is-live text { fill: var(--accent-ink); }
.bar.access.is-live rect { fill: var(--wait); } .bar.access.is-live text { fill: var(--wait-ink); }
.bar.is-resent rect { fill: var(--bad-bg); stroke: var(--bad); } .bar.is-resent text { fill: var(--bad); }
.bar.ahead rect { opacity: .3; }
[class^="mark-"] { overflow: visible; }
[class^="mark-"] circle { fill: var(--card); stroke: var(--quiet); stroke-width: 1.5; }
[class^="mark-"] path { fill: none; stroke: var(--quiet); stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.mark-login circle, .mark-renewed circle { fill: var(--accent); stroke: var(--card); }
.mark-login path, .mark-renewed path { stroke: var(--accent-ink); }
.mark-refused circle, .mark-stopped circle, .mark-revoked circle { fill: var(--bad-bg); stroke: var(--bad); }
.mark-refused path, .mark-stopped path, .mark-revoked path { stroke: var(--bad); }
.mark-rejected circle { fill: var(--warn-bg); stroke: var(--warn); }
.mark-rejected path { stroke: var(--warn); }
.mark-lost circle { fill: var(--bad); stroke: var(--card); }
.mark-lost path { stroke: var(--card); stroke-width: 2.5; }
.legend { display: flex; flex-wrap: wrap; gap: .125rem 1rem; margin-top: .375rem; font-size: .8125rem; color: var(--quiet); }
.legend li { display: flex; align-items: center; gap: .375rem; }
.swatch { width: .875rem; height: .625rem; border-radius: .1875rem; background: var(--line); }
.swatch.refresh { background: var(--accent); }
.swatch.access { background: var(--wait); }
.story { margin: .875rem -1.25rem -1.25rem; padding: 0 1.25rem; max-height: 12.25rem; overflow-y: auto; border-radius: 0 0 .875rem .875rem; border-top: 1px dashed var(--edge); }
.story:focus-visible { outline-offset: -2px; }
.story ol { display: grid; grid-template-columns: auto minmax(0, 1fr); }
.story li { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; gap: .75rem; margin: 0 -1.25rem; padding: .4375rem 1.25rem; font-size: .875rem; border-bottom: 1px dashed var(--line); }
.story li:last-child { border-bottom: 0; }
.story time { font: .8125rem/1.625 var(--mono); color: var(--quiet); font-variant-numeric: tabular-nums; }
.story b { font-weight: 650; }
.story small { color: var(--quiet); overflow-wrap: anywhere; }
.story p { overflow-wrap: anywhere; }
.story .is-refused b, .story .is-stopped b, .story .is-revoked b { color: var(--bad); }
.story .is-rejected b { color: var(--warn); }
.story .is-cut { background: var(--warn-bg); } .story .is-cut, .story .is-cut :is(time, small) { color: var(--warn); }
.story .is-lost { background: var(--bad-bg); box-shadow: inset .25rem 0 0 var(--bad); } .story .is-lost, .story .is-lost :is(time, small) { color: var(--bad); }

.application { padding: .25rem 0; }
.application dl { margin-bottom: .5rem; }
.application h2 { padding: 0; }
.application dl div { padding: .5rem 1.25rem; }
.application dt { font-size: .8125rem; color: var(--quiet); }
.application dd { display: flex; align-items: start; justify-content: space-between; gap: .75rem; }
.application code { overflow-wrap: anywhere; padding-top: .1875rem; }
.copy { font-size: .75rem; min-height: 1.75rem; padding: .1875rem .5rem; }

.said {
  position: fixed; inset: auto 1rem 1.25rem; margin: 0 auto; width: fit-content; max-width: 34rem; padding: .75rem 1.125rem;
  border-radius: .75rem; font-size: .9375rem; font-weight: 500; color: var(--paper); background: var(--ink); box-shadow: var(--shadow);
}
.said:empty { visibility: hidden; }
dialog { width: calc(100% - 2rem); max-width: 32rem; padding: 1.5rem; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: .875rem; box-shadow: 0 24px 64px -16px rgb(0 0 0 / .4); }
dialog::backdrop { background: rgb(20 22 20 / .5); }
dialog h2 { font-size: 1.25rem; }
dialog p { margin-top: .5rem; color: var(--quiet); }
#token-value { display: block; margin-top: 1rem; padding: .875rem; border: 1px dashed var(--edge); border-radius: .625rem; background: var(--raised); overflow-wrap: anywhere; user-select: all; }

@media (max-width: 64rem) {
  .console { grid-template-columns: minmax(0, 1fr); }
  .side { position: static; max-height: none; }
  .roll { max-height: 70vh; }
  .top { gap: .5rem 1.5rem; }
  .live { margin-left: auto; }
  .facts { order: 3; flex: 1 0 100%; }
  .on-this-page {
    display: flex; gap: 1rem; position: sticky; top: 0; z-index: 1; padding: 0 clamp(1rem, 3vw, 2.5rem);
    background: var(--card); border-bottom: 1px solid var(--line);
  }
  .on-this-page a { padding: .75rem 0; font-size: .875rem; font-weight: 550; text-decoration: none; }
  .on-this-page a:hover { text-decoration: underline; }
  .on-this-page a:focus-visible { outline-offset: -3px; }
  .with-console:has(.timeline[hidden]) .on-this-page [href="#timeline"] { display: none; }
  .stores, .tape h2, .application, .timeline, .timeline h2 { scroll-margin-top: 4rem; }
}
@media (max-height: 48rem) {
  .side { position: static; max-height: none; }
  .roll { max-height: 70vh; }
}
@media (max-width: 40rem) {
  .on-this-page { justify-content: space-between; gap: .5rem; }
  .brand { flex: 1; }
  .console { padding-top: 1.25rem; gap: 1.25rem; }
  .store { padding: 1rem 1rem .25rem; }
  .store details { margin: 0 -1rem; padding: 0 1rem; }
  .store > header { flex-wrap: wrap; }
  .store h2 { flex-basis: 8rem; }
  .tokens > div { grid-template-columns: 6.25rem auto minmax(0, 1fr); gap: .5rem; }
  progress { width: 4.5rem; }
  .sheet { padding: 1.5rem 1.25rem; }
  .timeline { padding: 1rem; }
  .story { margin: .875rem -1rem -1rem; padding: 0 1rem; max-height: 20rem; }
  .story ol { grid-template-columns: minmax(0, 1fr); }
  .story li { gap: 0; }
}
`;
