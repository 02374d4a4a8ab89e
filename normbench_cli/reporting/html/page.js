"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = new Map(Object.entries(data.runs));

  // Elements are made from text only: nothing from the database is ever read as markup.
  function make(tag, attributes = {}, ...children) {
    const element = tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // Light and dark.
  const themes = ["system", "light", "dark"];
  const themeButton = document.getElementById("theme");
  function showTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = `Theme: ${theme}`;
  }
  function remembered(write) {
    try {
      if (write) localStorage.setItem("normbench-theme", write);
      return localStorage.getItem("normbench-theme");
    } catch {
      return null;  // a browser may refuse storage to a file
    }
  }
  let theme = themes.includes(remembered()) ? remembered() : "system";
  themeButton.hidden = false;
  showTheme(theme);
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    remembered(theme);
    showTheme(theme);
  });

  // Tables.
  const collator = new Intl.Collator("en", { numeric: true });
  function keyOf(row, column) {
    const cell = row.cells[column];
    const number = cell.dataset.value === undefined ? NaN : Number(cell.dataset.value);
    return { number, text: cell.textContent };
  }
  function compare(a, b) {
    const missing = Number.isNaN(a.number) - Number.isNaN(b.number);
    if (missing) return missing;
    return Number.isNaN(a.number) ? collator.compare(a.text, b.text) : a.number - b.number;
  }
  function sortBy(table, column) {
    const heads = [...table.tHead.rows[0].cells];
    const direction = heads[column].getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    heads.forEach((head, index) => head.setAttribute("aria-sort", index === column ? direction : "none"));
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: keyOf(row, column) }));
    const sign = direction === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const missing = Number.isNaN(a.key.number) !== Number.isNaN(b.key.number);
      return (missing ? 1 : sign) * compare(a.key, b.key);  // cells without a number stay last
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
  }
  for (const section of document.querySelectorAll("section.table")) {
    const table = section.querySelector("table");
    section.querySelectorAll(".sort").forEach((button, column) =>
      button.addEventListener("click", () => sortBy(table, column)));
    const input = section.querySelector("input"), output = section.querySelector("output");
    const rows = [...table.tBodies[0].rows];
    input?.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      output.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    });
  }

  // Values of plots, by mouse and by keyboard.
  const tip = document.getElementById("tip");
  function showTip(mark) {
    document.querySelectorAll(".mark.on").forEach((other) => other.classList.remove("on"));
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("on");
    tip.textContent = mark.dataset.text;
    const box = mark.getBoundingClientRect();
    const left = Math.min(box.right + 8, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 8) + scrollX}px`;
    tip.style.top = `${Math.max(box.top - tip.offsetHeight - 6, 4) + scrollY}px`;
  }
  function center(mark) {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }
  function nearest(marks, x, y, most = Infinity) {
    let best = null;
    for (const mark of marks) {
      const [left, top] = center(mark);
      const distance = Math.hypot(left - x, top - y);
      if (distance < most) [best, most] = [mark, distance];
    }
    return best;
  }
  for (const plot of document.querySelectorAll("svg.plot")) {
    const marks = [...plot.querySelectorAll(".mark")];
    marks.forEach((mark) => mark.querySelector("title").remove());  // the tip takes its place
    const groups = [...new Set(marks.map((mark) => mark.dataset.group))];
    let current = null;  // stays when the tip goes, so that the keyboard goes on from there
    let pointer = "";
    const show = (mark) => showTip((current = mark));
    const under = (event) => nearest(marks, event.clientX, event.clientY, 24);
    const open = (mark) => mark?.dataset.runs && openRuns(mark.dataset.runs, mark.dataset.text);
    plot.addEventListener("pointermove", (event) => {
      const place = `${event.clientX} ${event.clientY}`;
      if (place === pointer) return;  // the page moved, not the pointer
      pointer = place;
      const mark = under(event);
      if (mark) show(mark);
      else showTip(null);
    });
    plot.addEventListener("pointerleave", () => showTip(null));
    plot.addEventListener("click", (event) => open(under(event)));
    plot.addEventListener("focus", () => plot.matches(":focus-visible") && show(current ?? marks[0]));
    plot.addEventListener("blur", () => showTip(null));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
      if (event.key === "Escape") showTip(null);
      if (event.key === "Enter") {
        event.preventDefault();  // or the same key would press the button that the dialog gives focus to
        open(current);
      }
      if (!step || !marks.length) return;
      event.preventDefault();
      const from = current ?? marks[0];
      const number = groups.indexOf(from.dataset.group) + step[1];
      const group = groups[(number + groups.length) % groups.length];
      const own = marks.filter((mark) => mark.dataset.group === group);
      const at = own.indexOf(from);
      show(at < 0 ? nearest(own, ...center(from)) : own[Math.min(Math.max(at + step[0], 0), own.length - 1)]);
    });
  }

  // Runs.
  const dialog = document.getElementById("runs"), list = document.getElementById("run-list");
  function shown(value) {
    if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  function pairs(title, entries) {
    if (!entries.length) return [];
    const rows = entries.map(([name, value]) => make("div", {}, make("span", {}, name), make("span", {}, shown(value))));
    return [make("h3", {}, title), make("div", { class: "columns" }, ...rows)];
  }
  function curve(name, points) {
    const found = points.filter((point) => point.every((value) => typeof value === "number"));
    if (!found.length) return "";
    const xs = found.map((point) => point[0]), ys = found.map((point) => point[1]);
    const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = [Math.min(...ys), Math.max(...ys)];
    const place = ([x, y]) => `${(4 + (92 * (x - left)) / (right - left || 1)).toFixed(1)},`
      + `${(36 - (32 * (y - low)) / (high - low || 1)).toFixed(1)}`;
    const text = `${name}: ${shown(ys[0])} to ${shown(ys[ys.length - 1])}, lowest ${shown(low)}, highest ${shown(high)}`;
    const line = make("svg:polyline", { points: found.map(place).join(" ") });
    const picture = make("svg:svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": text }, line);
    return make("figure", {}, picture, make("div", {}, name), make("div", {}, `${shown(ys[0])} → ${shown(ys[ys.length - 1])}`));
  }
  function command(text) {
    const button = make("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.previousElementSibling);  // the reader copies it
      }
    });
    return [make("h3", {}, "Run it again"), make("code", {}, text), button];
  }
  function details(id, open) {
    const run = runs.get(id);
    if (!run) return make("p", { class: "run" }, `${id}: this file has no details of it`);
    const known = ["settings", "environment", "metrics", "curves", "command", "status"];
    const expand = (part) => (Array.isArray(run[part]) ? run[part].map((index) => data.shared[index]) : []);
    const others = Object.entries(run).filter(([name, value]) => !known.includes(name) && value !== "" && value !== null);
    const curves = Object.entries(run.curves ?? {}).map(([name, points]) => curve(name, points)).filter(Boolean);
    const element = make("details", { class: "run" }, make("summary", {}, `${id} · ${run.status ?? ""}`),
      ...(run.command ? command(run.command) : []),
      ...pairs("About the run", others),
      ...pairs("Metrics", Object.entries(run.metrics ?? {})),
      ...(curves.length ? [make("h3", {}, "Curves"), make("div", { class: "curves" }, ...curves)] : []),
      ...pairs("Settings", expand("settings")),
      ...pairs("Environment", expand("environment")));
    element.open = open;
    return element;
  }
  function openRuns(text, of) {
    const ids = text.split(" ");
    document.getElementById("runs-title").textContent = `${ids.length} run${ids.length > 1 ? "s" : ""} of ${of}`;
    list.replaceChildren(...ids.map((id, index) => details(id, index === 0)));
    showTip(null);
    dialog.showModal();
  }
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.querySelector("main").addEventListener("click", (event) => {
    const button = event.target.closest("button[data-runs]");
    if (!button) return;
    const cell = button.closest("th, td"), row = cell.parentElement, heads = cell.closest("table").tHead.rows[0].cells;
    openRuns(button.dataset.runs, `${row.cells[0].textContent}, ${heads[cell.cellIndex].textContent} ${cell.textContent}`);
  });
})();
