"use strict";
const start = () => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const svg = "http://www.w3.org/2000/svg";
  const show = (element) => { if (element) element.hidden = false; };

  document.getElementById("json").textContent = JSON.stringify(read("object"), null, 2);

  // Values in words, as the page has them elsewhere.
  const digits = (v) => Number(v.toPrecision(3)).toLocaleString("en-US", { maximumSignificantDigits: 3 });
  const scaled = (v, unit) => {
    const at = v < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(v) / 3));
    return digits(v / 1000 ** at) + " " + ["", "k", "M", "G", "T"][at].replace("k", "K") + unit;
  };
  const words = (v, unit) => {
    if (v === null || v === undefined || Number.isNaN(v)) return "unknown";
    if (unit === "share") return digits(100 * v) + " %";
    if (unit === "B" || unit === "B/s") return scaled(v, unit);
    return digits(v) + " " + unit;
  };
  const clock = (s) => s < 120 ? digits(s) + " s" : s < 7200 ? digits(s / 60) + " min" : digits(s / 3600) + " h";
  const mean = (values, a, b) => {
    const known = values.slice(a, b + 1).filter((v) => v !== null);
    return known.length ? known.reduce((x, y) => x + y, 0) / known.length : null;
  };

  // The strip: a time is pointed at, a stretch is dragged over; the keys do the same.
  for (const section of document.querySelectorAll(".strip")) {
    const strip = data.strips[section.dataset.strip];
    const pictures = [...section.querySelectorAll(".track svg")];
    const limits = [...section.querySelectorAll(".track .most")].map((e) => e.textContent);
    const readout = section.querySelector(".readout");
    const columns = strip.tracks[0].values.length;
    let at = -1, from = -1, dragging = false;
    show(section.querySelector(".hint"));
    const marks = pictures.map((picture) => {
      const brush = picture.appendChild(document.createElementNS(svg, "rect"));
      const cursor = picture.appendChild(document.createElementNS(svg, "path"));
      brush.setAttribute("class", "brush");
      brush.setAttribute("height", "40");
      cursor.setAttribute("class", "cursor");
      return { brush, cursor };
    });
    const time = (column) => strip.from + (strip.to - strip.from) * column / columns;
    const draw = () => {
      const a = Math.min(at, from < 0 ? at : from), b = Math.max(at, from);
      marks.forEach(({ brush, cursor }) => {
        cursor.setAttribute("d", at < 0 ? "" : `M${1000 * (at + .5) / columns} 0V40`);
        brush.setAttribute("x", 1000 * a / columns);
        brush.setAttribute("width", from < 0 ? 0 : 1000 * (b - a + 1) / columns);
      });
      readout.textContent = at < 0 ? "" : from < 0 ? "at " + clock(time(at)) : "means from " + clock(time(a)) + " to " + clock(time(b + 1));
      section.querySelectorAll(".track .most").forEach((cell, i) => {
        const track = strip.tracks[i];
        cell.textContent = at < 0 ? limits[i] : words(from < 0 ? track.values[at] : mean(track.values, a, b), track.unit);
      });
    };
    const column = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      return Math.max(0, Math.min(columns - 1, Math.floor(columns * (event.clientX - box.left) / box.width)));
    };
    for (const picture of pictures) {
      picture.setAttribute("tabindex", "0");
      picture.addEventListener("pointerdown", (event) => { at = from = column(event); dragging = true; picture.setPointerCapture(event.pointerId); draw(); });
      picture.addEventListener("pointermove", (event) => { if (dragging || from < 0) { at = column(event); draw(); } });
      picture.addEventListener("pointerup", () => { dragging = false; if (from === at) from = -1; draw(); });
      picture.addEventListener("pointerleave", () => { if (!dragging && from < 0) { at = -1; draw(); } });
      picture.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -columns, End: columns }[event.key];
        if (event.key === "Escape") { at = from = -1; } else if (by === undefined) { return; } else {
          if (event.shiftKey && from < 0) from = Math.max(0, at);
          if (!event.shiftKey) from = -1;
          at = Math.max(0, Math.min(columns - 1, Math.max(0, at) + by));
        }
        event.preventDefault();
        draw();
      });
    }
  }

  // What if: forecasts are looked up, never computed here.
  const table = data.what_if;
  if (table) {
    const input = (id, values, now) => {
      const element = document.getElementById(id);
      element.max = values.length - 1;
      element.value = Math.max(0, now);
      element.addEventListener("input", forecast);
      return element;
    };
    const workers = input("workers", table.workers, table.now[0]), prefetch = input("prefetch", table.prefetch, table.now[1]);
    function forecast() {
      const i = Number(workers.value), k = Number(prefetch.value), cell = table.rows[i][k];
      document.getElementById("workers-out").textContent = table.workers[i];
      document.getElementById("prefetch-out").textContent = table.prefetch[k];
      workers.setAttribute("aria-valuetext", table.workers[i]);
      prefetch.setAttribute("aria-valuetext", table.prefetch[k]);
      const as = i === table.now[0] && k === table.now[1];
      document.getElementById("what-if-answer").textContent = cell.point === null ? "unknown" :
        (as ? "as it is" : `${cell.point.toFixed(2)}x (${cell.low.toFixed(2)} to ${cell.high.toFixed(2)})`) +
        (cell.throughput === null ? "" : `, ${digits(cell.throughput)} samples/s`) +
        (cell.stall === null || as ? "" : `, waiting for input ${words(cell.stall, "share")}`) + (cell.binds ? `; ${cell.binds}` : "");
    }
    show(document.querySelector(".sliders"));
    forecast();
  }

  for (const button of document.querySelectorAll(".copy")) {
    show(button);
    button.addEventListener("click", async () => {
      const pre = button.parentElement.querySelector("pre");
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected: press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
};
start();

// A page that is served asks for itself again, unless somebody is at it.
const live = Number(document.getElementById("main").dataset.live);
if (live) setInterval(async () => {
  const main = document.getElementById("main");
  if (document.hidden || main.querySelector(":focus, .tracks:hover, details[open]") || !getSelection().isCollapsed) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (!next) return;
    const at = scrollY;
    main.replaceWith(next);
    start();
    scrollTo(0, at);
  } catch { /* the server has ended: what is there stays */ }
}, live);
