#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens pages of `plumbline report` in headless Chromium and looks at what became of them.

    page_in_browser.py --sample SAMPLE_REPORT     the sample pages that program writes
    page_in_browser.py PAGE...                    pages that are there
    --screenshots DIR                             also: light, dark, wide and phone

A probe is added to a copy of each page, and its hash to the page's own content security policy, which stays in force. It unfolds
and draws everything as for printing, then reports: errors, blocked or made requests, charts without a drop of ink, charts without numbers, numbers that were not made a table, and a sample that takes too
many pages of paper, what is cut off with no hint on a phone, and what is cut off on paper.
Exits with 77 (skipped) where there is no Chromium.
"""
import argparse
import base64
import hashlib
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EARS = """
window.heard = [];
addEventListener("error", (event) => heard.push("error: " + event.message));
addEventListener("unhandledrejection", (event) => heard.push("rejection: " + event.reason));
addEventListener("securitypolicyviolation", (event) => heard.push("blocked: " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => heard.push(level + ": " + words.join(" "));
"""

PROBE = """
addEventListener("load", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  dispatchEvent(new Event("beforeprint"));
  const charts = Array.from(document.querySelectorAll("figure[data-chart]"));
  const title = (figure) => figure.querySelector("h3, h4").textContent;
  const blank = charts.filter((figure) => {
    const canvas = figure.querySelector("canvas");
    if (!canvas.width || !canvas.height) return true;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const inks = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) inks.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    return inks.size < 3; // text and grid alone are two
  });
  const unmarked = () => Array.from(document.querySelectorAll(".scroll, pre:not(.rows)"))
    .filter((element) => element.scrollWidth > element.clientWidth + 1 && !element.classList.contains("cut")).map((element) => element.textContent.slice(0, 60));
  const look = (times) => { // once sizes were observed: with a frame, which a busy machine may make late
  if (times > 0 && unmarked().length) { setTimeout(() => look(times - 1), 200); return; }
  const result = document.createElement("pre");
  result.id = "probe";
  result.textContent = JSON.stringify({
    charts: charts.length,
    blank: blank.map(title),
    bare: charts.filter((figure) => !figure.querySelector(".rows").textContent.includes("\\n")).map(title),
    text: Array.from(document.querySelectorAll(".rows")).filter((numbers) => !numbers.hidden).length,
    requests: performance.getEntriesByType("resource").map((entry) => entry.name.slice(0, 80)).filter((name) => !name.startsWith("data:")),
    wide: document.documentElement.scrollWidth > innerWidth ? document.documentElement.scrollWidth : 0,
    milliseconds: Math.round(performance.timing.domContentLoadedEventEnd - performance.timing.responseEnd),
    unmarked: unmarked(),
    axes: charts.flatMap((figure) => badly_framed(figure).map((what) => title(figure) + ": " + what)),
    paper: cut_on_paper(),
    heard,
  });
  document.body.append(result);
  };
  setTimeout(() => look(60), 2000);
});

// Points on the frame of a chart, and lines of its grid without a name.
function badly_framed(figure) {
  const chart = Chart.getChart(figure.querySelector("canvas")), area = chart.chartArea, found = [];
  const given = JSON.parse(figure.dataset.chart);
  chart.data.datasets.forEach((set, i) => {
    if (["guide", "dashed"].includes(given.series[i][2])) return;
    for (const [at, point] of chart.getDatasetMeta(i).data.entries()) {
      if (given.y.log && !(set.data[at].y > 0)) continue; // 0 is below every power of ten
      const { x, y } = point.getProps(["x", "y"], true);
      if (Math.min(Math.abs(x - area.left), Math.abs(x - area.right), Math.abs(y - area.top), Math.abs(y - area.bottom)) < 2) found.push("a point on the frame");
    }
  });
  for (const scale of Object.values(chart.scales)) {
    if (scale.type === "logarithmic" && scale.ticks.some((tick) => !tick.label)) found.push("a line of the grid without a name");
    if (scale.ticks.length < 2) found.push("fewer than two names on an axis");
  }
  return [...new Set(found)];
}

// The titles of tables and texts that would not fit a sheet of A4, by the page's own rules for paper.
function cut_on_paper() {
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules) if (rule.media && rule.media.mediaText === "print") rule.media.mediaText = "screen";
  document.body.style.width = "700px";
  if (getComputedStyle(document.querySelector("nav")).display !== "none") return ["links, which lead nowhere on paper"];
  return Array.from(document.querySelectorAll("table, pre:not(.rows)"))
    .filter((element) => Math.max(element.getBoundingClientRect().right, element.getBoundingClientRect().left + element.scrollWidth) > 705)
    .map((element) => { const figure = element.closest("figure"); return figure ? figure.querySelector("h3, h4").textContent : element.textContent.slice(0, 60); });
}
"""


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


def run(browser, page, *flags):
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   f"--user-data-dir={profile}", *flags, pathlib.Path(page).resolve().as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def probed(text):
    """The page with the probe in it, allowed by the page's own policy."""
    hashes = " ".join("'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in (EARS, PROBE))
    text, policies = re.subn("script-src ", lambda _: "script-src " + hashes + " ", text, count=1)
    assert policies == 1, "the page has no content security policy"
    text = text.replace("<style>", f"<script>{EARS}</script><style>", 1)
    return text.replace("</body>", f"<script>{PROBE}</script></body>", 1)


# What is right is printed as one line each.
MOST_SHEETS = {"large_passing.html": 4}


def sheets(browser, page):
    """How many pages of paper it prints on."""
    with tempfile.TemporaryDirectory() as folder:
        paper = pathlib.Path(folder) / "page.pdf"
        run(browser, page, f"--print-to-pdf={paper}")
        return max(int(count) for count in re.findall(rb"/Count (\d+)", paper.read_bytes()))


def examine(browser, page):
    """The complaints about a page."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.html"
        copy.write_text(probed(pathlib.Path(page).read_text()))
        dom = run(browser, copy, "--window-size=390,900", "--run-all-compositor-stages-before-draw", "--virtual-time-budget=20000", "--dump-dom")
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    if not found:
        return ["the probe did not run"]
    result = json.loads(html.unescape(found.group(1)))
    print(f"{page}: {result['charts']} charts, {result['milliseconds']} ms to parse and run")
    complaints = [f"no ink: {title}" for title in result["blank"]]
    complaints += [f"no numbers: {title}" for title in result["bare"]]
    if result["text"]:
        complaints.append(f"{result['text']} tables are still text on paper")
    complaints += [f"request: {name}" for name in result["requests"]]
    complaints += [f"wider than its place, and does not say so: {text}" for text in result["unmarked"]]
    complaints += result["axes"]
    complaints += [f"wrong on paper: {title}" for title in result["paper"]]
    complaints += result["heard"]
    if not result["charts"]:
        complaints.append("no charts")
    if result["wide"]:
        complaints.append(f"wider than a phone: {result['wide']} px")
    return complaints


def take_screenshots(browser, page, folder):
    name = pathlib.Path(page).parent.name + "-" + pathlib.Path(page).stem
    for look, size, flags in (("light", "1100,2600", ()), ("dark", "1100,2600", ("--blink-settings=preferredColorScheme=0",)),
                              ("screen", "1280,800", ()), ("phone", "390,1800", ())):
        run(browser, page, f"--window-size={size}", "--virtual-time-budget=5000", f"--screenshot={folder}/{name}-{look}.png", *flags)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample")
    parser.add_argument("--screenshots")
    parser.add_argument("pages", nargs="*")
    given = parser.parse_args()
    browser = chromium()
    if not browser:
        print("SKIP: no chromium here (Debian: apt install chromium); the pages were not opened")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = given.pages
        if given.sample:
            subprocess.run([given.sample, folder], check=True)
            pages = pages + sorted(str(path) for path in pathlib.Path(folder).glob("*.html"))
        for page in pages:
            complaints = examine(browser, page)
            most = MOST_SHEETS.get(pathlib.Path(page).name)
            if most and sheets(browser, page) > most:
                complaints.append(f"prints on {sheets(browser, page)} pages, more than {most}")
            for complaint in complaints:
                bad += 1
                print(f"FAILED: {page}: {complaint}")
            if given.screenshots:
                take_screenshots(browser, page, given.screenshots)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
