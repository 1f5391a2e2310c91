// Draws the charts and the large tables of report.html. A chart is a <figure data-chart="..."> that says which columns of its
// own numbers to draw, so what is drawn is what a reader can copy. Numbers are text: lines of cells between tabs. Both are drawn
// when they come into view: a page of sixty kernels opens at once.
"use strict";
(function () {
  const css = getComputedStyle(document.documentElement);
  const color = (name) => css.getPropertyValue("--" + name).trim();
  const charts = new Map();

  const lines = (numbers) => numbers.textContent.split("\n").map((line) => line.split("\t"));

  // The numbers as a table; the text stays, hidden, for charts and files.
  function tabulate(numbers) {
    if (numbers.hidden) return;
    const tones = { "✓": "pass", "!": "near", "✗": "fail", "–": "off" };
    const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const [titles, ...rows] = lines(numbers);
    if (titles.length > 8 && rows.every((row) => row.slice(1).every((text) => text.length < 12))) table.className = "matrix";
    const kind = (text) => tones[text[0]] || (Number.isNaN(parseFloat(text)) ? "" : "n");
    titles.forEach((title, column) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.tabIndex = 0;
      cell.textContent = title;
      if (rows.length && kind(rows[0][column]) === "n") cell.className = "n";
      head.append(cell);
    });
    for (const texts of rows) {
      const row = body.insertRow();
      for (const text of texts) {
        const cell = row.insertCell();
        cell.textContent = text;
        cell.className = kind(text);
      }
    }
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.append(table);
    numbers.hidden = true;
    numbers.after(scroll);
    sizes.observe(scroll);
  }

  // What is wider than its place says that it can be scrolled.
  const sizes = new ResizeObserver((entries) => {
    requestAnimationFrame(() => {
      for (const { target } of entries) target.classList.toggle("cut", target.scrollWidth > target.clientWidth + 1);
    });
  });
  for (const element of document.querySelectorAll(".scroll, pre:not(.rows)")) sizes.observe(element);

  function short(number) {
    if (number === 0) return "0";
    const size = Math.abs(number);
    return size >= 1e5 || size < 1e-3 ? number.toExponential(0).replace("e+", "e") : String(Number(number.toPrecision(3)));
  }

  // The lines of a logarithmic axis, each with its name: powers of ten, or of a short axis their double and half of the next as well.
  function decades(low, high) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), span = Math.log10(high / low);
    const step = Math.ceil(span / 9), tenths = Array.from({ length: 90 }, (_, i) => 1 + i / 10);
    for (const leads of span >= 2 ? [[1]] : [[1, 2, 5], tenths.filter(Number.isInteger), tenths]) {
      const ticks = [];
      for (let power = first; power <= last; power++) {
        for (const lead of leads) {
          const value = lead * Math.pow(10, power);
          if (power % step === 0 && value >= low && value <= high) ticks.push({ value });
        }
      }
      if (ticks.length > 1) return ticks;
    }
    return [{ value: low }, { value: high }];
  }

  // From a little below the least value to a little above the largest one: no point is on the frame.
  function range(given, values) {
    const shown = values.filter((value) => Number.isFinite(value) && (!given.log || value > 0) && !(value > given.limit));
    if (!shown.length) return null;
    let low = shown.reduce((a, b) => Math.min(a, b)), high = shown.reduce((a, b) => Math.max(a, b));
    if (given.log) {
      const room = Math.max(Math.pow(high / low, 0.04), 1.15);
      return { low: low / room, high: high * room };
    }
    const room = 0.04 * (high - low || Math.abs(high) || 1);
    return { low: low - room, high: high + room };
  }

  function axis(given, values) {
    const scale = {
      type: given.log ? "logarithmic" : "linear",
      title: { display: true, text: given.title, color: color("soft") },
      grid: { color: color("line"), borderColor: color("soft") },
      ticks: { color: color("soft"), maxRotation: 0, autoSkipPadding: 12 },
    };
    scale.ticks.callback = (at) => short(at);
    const ends = range(given, values);
    if (!ends) return scale;
    scale.min = ends.low;
    scale.max = ends.high;
    scale.ticks.includeBounds = false;
    if (given.log) scale.afterBuildTicks = (scale) => { scale.ticks = decades(scale.min, scale.max); };
    return scale;
  }

  // A step that has no neighbor has no line either.
  function stepRadius(at) {
    const y = (i) => at.dataset.data[i] ? at.dataset.data[i].y : null;
    return y(at.dataIndex - 1) === null && y(at.dataIndex + 1) === null ? 2.5 : 0;
  }

  const styles = {
    line: { showLine: true, pointRadius: 2.5, borderWidth: 2 },
    dots: { showLine: false, pointRadius: 3.5, pointStyle: "rectRot" },
    guide: { showLine: true, pointRadius: 0, borderWidth: 1, borderDash: [2, 4] },
    dashed: { showLine: true, pointRadius: 0, borderWidth: 1.5, borderDash: [5, 4] },
    expected: { showLine: true, stepped: "before", pointRadius: 0, borderWidth: 1.5, borderDash: [5, 4] },
    steps: { showLine: true, stepped: "before", pointRadius: stepRadius, borderWidth: 1.5 },
  };

  function dataset([label, column, style, name], rows, x) {
    const ink = color(name);
    const data = rows
      .map((row) => ({ x: parseFloat(row[x.column]), y: parseFloat(row[column]) }))
      .filter((point) => Number.isFinite(point.x) && (!x.log || point.x > 0));
    for (const point of data) if (!Number.isFinite(point.y)) point.y = null; // a gap
    return Object.assign({ label, data, borderColor: ink, backgroundColor: ink, spanGaps: !styles[style].stepped }, styles[style]);
  }

  function draw(figure) {
    if (charts.has(figure)) return;
    const given = JSON.parse(figure.dataset.chart);
    const rows = lines(figure.querySelector(".rows")).slice(1);
    const canvas = figure.querySelector("canvas");
    const datasets = given.series.map((series) => dataset(series, rows, given.x));
    // Guides do not widen what is measured.
    const measured = datasets.filter((_, i) => !["guide", "dashed"].includes(given.series[i][2]));
    const values = (of) => measured.flatMap((one) => one.data.filter((point) => point.y !== null).map((point) => point[of]));
    charts.set(figure, new Chart(canvas, {
      type: "scatter",
      data: { datasets },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        scales: { x: axis(given.x, values("x")), y: axis(given.y, values("y")) },
        plugins: {
          legend: { display: given.series.length > 1, position: "bottom", align: "start",
            labels: { color: color("ink"), usePointStyle: true, boxWidth: 8, boxHeight: 8, padding: 14 } },
          tooltip: { callbacks: {
            title: (items) => items.length ? given.x.title + ": " + short(items[0].parsed.x) : "",
            label: (item) => item.dataset.label + ": " + short(item.parsed.y) } },
        },
      },
    }));
  }

  function forget() {
    for (const chart of charts.values()) chart.destroy();
    charts.clear();
  }

  const figures = Array.from(document.querySelectorAll("figure[data-chart]"));
  const tables = Array.from(document.querySelectorAll(".rows"));
  const unfolded = (element) => !element.closest("details:not([open])");
  const in_view = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) (entry.target.matches(".rows") ? tabulate : draw)(entry.target);
  }, { rootMargin: "300px" });
  document.documentElement.classList.add("drawing");
  figures.filter(unfolded).slice(0, 12).forEach(draw);
  for (const element of [...figures, ...tables]) in_view.observe(element);

  // A link to a kernel unfolds it.
  function unfold() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (error) { return; }
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  // Other colors: what is in view is drawn again.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forget();
    for (const figure of figures) {
      in_view.unobserve(figure);
      in_view.observe(figure);
    }
  });

  // A click on a column's head sorts its table; numbers by their values, what has none comes last.
  function sort(head) {
    const table = head.closest("table"), body = table.tBodies[0];
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const group of body.querySelectorAll(".group")) group.remove(); // it sums up the rows below it
    const rows = Array.from(body.rows), column = head.cellIndex;
    // The number where the text is rounded or has a unit.
    const key = (row) => row.cells[column].dataset.v || row.cells[column].textContent;
    rows.sort((a, b) => {
      const x = parseFloat(key(a)), y = parseFloat(key(b));
      const order = Number.isNaN(x) && Number.isNaN(y) ? key(b).localeCompare(key(a))
        : Number.isNaN(x) ? -1 : Number.isNaN(y) ? 1 : x - y;
      return down ? -order : order;
    });
    body.append(...rows);
  }
  for (const head of document.querySelectorAll("thead th")) head.tabIndex = 0;
  for (const kind of ["click", "keydown"]) {
    addEventListener(kind, (event) => {
      const head = event.target.closest("thead th");
      if (head && (kind === "click" || event.key === "Enter")) sort(head);
    });
  }

  // The numbers of a figure as a file (RFC 4180), as precise as they are drawn.
  function csv(rows) {
    const field = (text) => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
  }
  for (const numbers of document.querySelectorAll("details.numbers")) {
    const save = document.createElement("a");
    save.className = "save";
    save.textContent = "Save as CSV";
    save.download = numbers.closest("figure").querySelector("h3, h4").textContent + ".csv";
    save.href = "#";
    save.addEventListener("click", () => {
      save.href = URL.createObjectURL(new Blob([csv(lines(numbers.querySelector(".rows")))], { type: "text/csv" }));
    });
    numbers.append(save);
  }

  // What does not hold the words typed is hidden: rows of kernels, and kernels in detail.
  const filter = document.querySelector(".filter");
  if (filter) {
    filter.hidden = false;
    filter.querySelector("input").addEventListener("input", (event) => {
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      const keep = (text) => words.every((word) => text.toLowerCase().includes(word));
      for (const row of document.querySelectorAll("#kernels ~ figure tbody tr")) {
        row.hidden = row.matches(".group") ? words.length > 0 : !keep(row.textContent);
        const link = row.querySelector("a");
        const kernel = link && document.getElementById(link.hash.slice(1));
        if (kernel) kernel.hidden = row.hidden;
      }
    });
  }

  // Paper shows what is unfolded, in the colors of paper.
  addEventListener("beforeprint", () => {
    forget();
    figures.filter(unfolded).forEach(draw);
    tables.filter(unfolded).forEach(tabulate);
  });
  addEventListener("afterprint", () => {
    forget();
    for (const figure of figures) {
      in_view.unobserve(figure);
      in_view.observe(figure);
    }
  });
})();
