// The live view of anabranch: shows the updates that the program sends. What is drawn, and when?
//
// `snapshot` brings everything so far; `begin`, `sample`, `end` and `note` what is new; `close` comes with the end of the program.
"use strict";

// The colours of Okabe and Ito, which colour-blind people can tell apart, too.
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00", "#7a7a7a"];

// Points that are kept of a transfer.
const MAX_POINTS = 10000;

// Spans of time that can be shown, in seconds.
const SPANS = [["1 minute", 60], ["10 minutes", 600], ["all", Infinity]];

const STATES = {
  "active": "works",
  "unconfirmed": "not verified",
  "potentially-failed": "does not answer",
  "inactive": "failed",
  "removed": "removed",
};

const LIMITS = {
  "state": "its state",
  "rests": "a path of smaller cost that works",
  "idle": "nothing waits to be sent",
  "peer-window": "the peer's receive window",
  "cwnd": "its congestion window",
  "pacing": "pacing",
  "none": "nothing: it has room",
};

const token = new URLSearchParams(location.search).get("token") || "";
const $ = (id) => document.getElementById(id);

// All that is known. The page's tests read it, too.
const view = { transfers: new Map(), shown: null, chosen: false, span: 60, epoch: 0 };
window.anabranch = view;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function rate(bits) {
  const [unit, name] = bits >= 1e9 ? [1e9, "Gbit/s"] : bits >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
  return `${(bits / unit).toFixed(bits >= 1e6 ? 1 : 0)} ${name}`;
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; count >= 1000 && at < units.length - 1; at++) count /= 1000;
  return `${at === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[at]}`;
}

const milliseconds = (time) => (time === null ? "–" : `${time.toFixed(time < 10 ? 1 : 0)} ms`);
const percent = (part) => `${(part * 100).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;
const color = (path) => COLORS[path % COLORS.length];

// Transfers.

function begin(number, name) {
  const known = view.transfers.get(number);
  if (known) {
    known.ended = false;
    if (name) known.name = name;
  } else {
    view.transfers.set(number, { name, ended: false, sample: null, points: [] });
  }
  if (!view.chosen) show(number);
  listTransfers();
}

function show(number) {
  if (view.shown === number) return;
  view.shown = number;
  $("paths").replaceChildren();
  drawAll();
}

function listTransfers() {
  const list = $("transfers");
  $("chooser").hidden = view.transfers.size < 2;
  list.replaceChildren();
  for (const [number, transfer] of [...view.transfers].reverse()) {
    const name = transfer.name || `transfer ${number}`;
    const option = element("option", "", transfer.ended ? `${name} (ended)` : name);
    option.value = number;
    option.selected = number === view.shown;
    list.append(option);
  }
}

// Forgets the oldest transfers that have ended, as the program does.
function forget() {
  const ended = [...view.transfers].filter(([number, known]) => known.ended && number !== view.shown);
  for (const [number] of ended.slice(0, Math.max(0, ended.length - 16))) view.transfers.delete(number);
}

// A point is the time in milliseconds, then for each path what its charts show.
function point(sample) {
  const paths = sample.paths.map((path) => [
    path.path, path.sent_bit_s, path.received_bit_s, path.rtt_ms, path.cwnd_bytes, path.in_flight_bytes, path.loss,
  ]);
  return { at: sample.at, paths };
}

// What is shown now.

function drawPath(path, place) {
  let card = place.querySelector(`[data-path="${path.path}"]`);
  if (!card) {
    card = element("article", "path");
    card.dataset.path = path.path;
    card.style.setProperty("--color", color(path.path));
    const head = element("h3");
    head.append(element("span", "", `path ${path.path}`), element("span", "state"));
    const share = element("div", "share");
    share.append(element("div"));
    const facts = element("dl");
    for (const [name, key] of FACTS) {
      const value = element("dd", WIDE.includes(key) ? "wide" : "");
      value.dataset.fact = key;
      facts.append(element("dt", "", name), value);
    }
    card.append(head, element("div", "where"), share, facts);
    place.append(card);
  }
  drawState(card, path.state, path.primary, path.resting);
  card.querySelector(".where").textContent = `${path.local} → ${path.remote}`;
  card.querySelector(".share div").style.width = `${path.share * 100}%`;
  card.querySelector(".share").title = `carries ${percent(path.share)}`;
  for (const [, key, text] of FACTS) card.querySelector(`[data-fact="${key}"]`).textContent = text(path);
}

function drawState(card, state, primary, resting) {
  card.dataset.state = state;
  const words = [STATES[state] || state];
  if (resting) words.push("rests");
  if (primary) words.push("primary");
  card.querySelector(".state").textContent = words.join(", ");
}

// How a path is to be used, by the file of a tunnel or the peer.
function use(path) {
  const words = path.cost === 255 ? ["backup"] : path.cost ? [`cost ${path.cost}`] : [];
  if (path.cap_bit_s !== null) words.push(`at most ${rate(path.cap_bit_s)}`);
  return words.join(", ") || "as any other";
}

const FACTS = [
  ["sends", "sent", (path) => rate(path.sent_bit_s)],
  ["receives", "received", (path) => rate(path.received_bit_s)],
  ["round trip", "rtt", (path) => milliseconds(path.rtt_ms)],
  ["of it queue", "queue", (path) => milliseconds(path.queue_ms)],
  ["in flight", "in_flight", (path) => bytes(path.in_flight_bytes)],
  ["cwnd", "cwnd", (path) => bytes(path.cwnd_bytes)],
  ["loss", "loss", (path) => percent(path.loss)],
  ["share", "share", (path) => percent(path.share)],
  ["sent", "sent_bytes", (path) => bytes(path.sent_bytes + path.retransmitted_bytes)],
  ["received", "received_bytes", (path) => bytes(path.received_bytes)],
  ["use", "use", use],
  ["limited by", "limit", (path) => LIMITS[path.limit] || path.limit],
];

const WIDE = ["use", "limit"];

function drawNow() {
  const transfer = view.transfers.get(view.shown);
  const sample = transfer && transfer.sample;
  const sum = $("sum");
  if (!sample) {
    sum.replaceChildren(element("span", "", "no association yet"));
    return;
  }
  const all = (key) => sample.paths.reduce((total, path) => total + path[key], 0);
  const parts = [["sends", rate(all("sent_bit_s"))], ["receives", rate(all("received_bit_s"))]];
  const amount = sample.amount;
  if (amount) {
    const of = amount.size ? ` of ${bytes(amount.size)}, ${percent(amount.bytes / amount.size)}` : "";
    parts.push(["arrived", bytes(amount.bytes) + of]);
  }
  sum.replaceChildren(...parts.map(([name, text]) => {
    const part = element("span", "", `${name} `);
    part.append(element("b", "", text));
    return part;
  }));
  const place = $("paths");
  for (const path of sample.paths) drawPath(path, place);
  for (const card of place.children) {
    const known = sample.paths.some((path) => String(path.path) === card.dataset.path);
    if (!known) drawState(card, "removed", false, false);
  }
}

// Charts.

const CHARTS = [
  ["rate, Mbit/s", 1, (path) => (path[1] + path[2]) / 1e6],
  ["round-trip time, ms", 3, (path) => path[3]],
  ["bytes in flight (line) of cwnd (dashes), kB", 5, (path) => path[5] / 1e3],
  ["loss of the last 2 seconds, %", 6, (path) => path[6] * 100],
];
const CWND = 2;

let charts = [];

// Series are paths; they are made anew when a path is added.
function makeCharts(paths) {
  for (const chart of charts) chart.plot.destroy();
  $("charts").replaceChildren();
  const style = getComputedStyle(document.documentElement);
  const [faint, line] = [style.getPropertyValue("--faint"), style.getPropertyValue("--line")];
  const places = CHARTS.map(([title]) => {
    const place = element("div", "chart");
    place.append(element("h3", "", title));
    return place;
  });
  // Together, so that each has its width when it is drawn.
  $("charts").append(...places);
  charts = places.map((place, index) => {
    const series = [{}];
    for (const path of paths) {
      series.push({ label: `path ${path}`, stroke: color(path), width: 1.5, points: { show: false } });
      if (index === CWND) series.push({ stroke: color(path), width: 1, dash: [4, 4], points: { show: false } });
    }
    const axis = { stroke: faint, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const plot = new uPlot({
      width: place.clientWidth,
      height: 170,
      cursor: { sync: { key: "time" } },
      scales: { y: { range: (chart, low, high) => [0, Math.max(high * 1.05, index === 3 ? 1 : 0.1)] } },
      axes: [{ ...axis }, { ...axis, size: 56 }],
      series,
    }, [[]], place);
    return { plot, place, paths };
  });
}

function drawCharts() {
  const transfer = view.transfers.get(view.shown);
  if (!transfer || transfer.points.length === 0) return;
  const last = transfer.points[transfer.points.length - 1].at;
  const points = transfer.points.filter((known) => last - known.at <= view.span * 1000);
  const paths = [...new Set(transfer.points.flatMap((known) => known.paths.map((path) => path[0])))].sort((a, b) => a - b);
  if (charts.length === 0 || charts[0].paths.join() !== paths.join()) makeCharts(paths);
  const times = points.map((known) => (view.epoch + known.at) / 1000);
  charts.forEach(({ plot }, index) => {
    const data = [times];
    for (const number of paths) {
      const of = points.map((known) => known.paths.find((path) => path[0] === number));
      data.push(of.map((path) => (path ? CHARTS[index][2](path) : null)));
      if (index === CWND) data.push(of.map((path) => (path ? path[4] / 1e3 : null)));
    }
    plot.setData(data);
  });
}

function drawAll() {
  drawNow();
  drawCharts();
}

// Events.

function note(entry) {
  const line = element("li", entry.severity);
  const when = new Date(view.epoch + entry.at);
  const isToday = when.toDateString() === new Date().toDateString();
  const time = isToday ? when.toLocaleTimeString() : when.toLocaleString();
  line.append(element("time", "", time), element("span", "", entry.text));
  const list = $("events");
  list.prepend(line);
  while (list.children.length > 200) list.lastChild.remove();
  // A change of a path is shown before the next sample.
  if (entry.path && entry.transfer === view.shown && entry.path[1] in STATES) {
    const card = $("paths").querySelector(`[data-path="${entry.path[0]}"]`);
    if (card) drawState(card, entry.path[1], false, false);
  }
}

// Updates from the program.

function link(state, text) {
  $("link").dataset.is = state;
  $("link").textContent = text;
}

const updates = {
  snapshot(data) {
    view.epoch = Date.now() - data.now;
    document.title = data.title;
    $("title").textContent = data.title;
    $("version").textContent = `anabranch ${data.version}`;
    view.transfers.clear();
    for (const known of data.transfers) {
      const { name, ended, sample, history } = known;
      view.transfers.set(known.transfer, { name, ended, sample, points: history });
    }
    if (!view.transfers.has(view.shown)) {
      const numbers = [...view.transfers.keys()];
      view.chosen = false;
      view.shown = numbers.length ? numbers[numbers.length - 1] : null;
      $("paths").replaceChildren();
    }
    $("events").replaceChildren();
    data.events.forEach(note);
    listTransfers();
    drawAll();
    link("live", "live");
  },
  begin(data) {
    begin(data.transfer, data.name);
  },
  sample(data) {
    const transfer = view.transfers.get(data.transfer);
    if (!transfer) return;
    transfer.sample = data;
    transfer.points.push(point(data));
    if (transfer.points.length > MAX_POINTS) transfer.points.splice(0, MAX_POINTS / 10);
    if (data.transfer === view.shown) requestAnimationFrame(drawAll);
  },
  end(number) {
    const transfer = view.transfers.get(number);
    if (transfer) transfer.ended = true;
    forget();
    listTransfers();
  },
  note,
  close() {
    source.close();
    link("over", "the program has ended");
  },
};

for (const [name, span] of SPANS) {
  const button = element("button", "", name);
  button.setAttribute("aria-pressed", span === view.span);
  button.addEventListener("click", () => {
    view.span = span;
    for (const other of $("spans").children) other.setAttribute("aria-pressed", other === button);
    drawCharts();
  });
  $("spans").append(button);
}
$("transfers").addEventListener("change", (event) => {
  view.chosen = true;
  show(Number(event.target.value));
});
addEventListener("resize", () => {
  for (const { plot, place } of charts) plot.setSize({ width: place.clientWidth, height: 170 });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  // Charts take their colours from the style when they are made.
  if (charts.length) makeCharts(charts[0].paths);
  drawCharts();
});

const source = new EventSource(`events?token=${encodeURIComponent(token)}`);
for (const [name, act] of Object.entries(updates)) {
  source.addEventListener(name, (event) => act(JSON.parse(event.data)));
}
source.addEventListener("error", () => {
  // Browsers connect again unless the answer was an error: another run of the program has another token.
  const isRefused = source.readyState === EventSource.CLOSED;
  link("lost", isRefused ? "refused; open the address that the program printed" : "connection lost; trying again");
});
