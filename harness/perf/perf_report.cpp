// SPDX-License-Identifier: MIT
#include "harness/perf/perf_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/perf/occupancy.h"
#include "harness/perf/roofline.h"
#include "oracles/base/hash.h"
#include "reports/count_text.h"
#include "reports/html/page.h"
#include "reports/places.h"
#include "reports/record/escape.h"
#include "reports/sarif_document.h"

namespace plumbline {
namespace {

using enum Counter;

std::int64_t pieces_of_advice(const PerfReport& report) {
  std::int64_t count = 0;
  for (const PerfResult& result : report.results) count += std::ssize(result.advice);
  return count;
}

std::int64_t counters_that_grew(const PerfReport& report) {
  return report.comparison ? std::ranges::count_if(report.comparison->changes, &CounterChange::grew)
                           : 0;
}

// How many times as many as would do: "1.3 x"; empty where there is nothing.
Cell times_cell(std::uint64_t count, std::uint64_t least) {
  if (least == 0) return {};
  const double times = static_cast<double>(count) / static_cast<double>(least);
  return number_cell(times, fmt::format("{:.2f} x", times));
}

Cell percent_cell(double share) {
  return number_cell(100 * share, fmt::format("{:.3g} %", 100 * share));
}

std::optional<Ceiling> ceiling_of(const PerfResult& result) {
  return result.chip != nullptr ? ceiling(result.entry, *result.chip) : std::nullopt;
}

std::string anchor_of(std::size_t index) { return fmt::format("kernel-{}", index + 1); }

Html kernels_section(const PerfReport& report) {
  Table table{.head = {"kernel", "problem", "chip", "at least", "of the peak", "bound by",
                       "sectors", "wavefronts", "useful products", "advice"},
              .rows = {}};
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const PerfResult& result = report.results[i];
    const PerfEntry& entry = result.entry;
    const std::optional<Ceiling> top = ceiling_of(result);
    std::vector<Cell>& row = table.rows.emplace_back();
    row.push_back(
        {element("a", element("code", entry.kernel), fmt::format("href=\"#{}\"", anchor_of(i)))});
    row.push_back(cell(entry.problem));
    row.push_back(cell(result.chip != nullptr ? std::string(result.chip->name)
                                              : fmt::format("sm_{}", entry.sm)));
    row.push_back(top ? number_cell(1e6 * top->seconds, top->least_time()) : Cell());
    row.push_back(top && !top->peak.empty() ? percent_cell(top->share) : Cell());
    row.push_back(top ? cell(name(top->bound)) : Cell());
    row.push_back(times_cell(entry.total(global_sectors), entry.total(global_least_sectors)));
    row.push_back(times_cell(entry.total(shared_wavefronts), entry.total(shared_least_wavefronts)));
    const auto macs = static_cast<double>(entry.total(tensor_macs));
    row.push_back(macs > 0 && entry.useful_macs
                      ? percent_cell(std::min(1.0, *entry.useful_macs / macs))
                      : Cell());
    row.push_back(count_cell(std::ssize(result.advice)));
  }
  Html html = to_html(table);
  html +=
      element("p",
              "Sectors of global memory and wavefronts of shared memory are given as multiples "
              "of what would hold the bytes, and of what would do without bank conflicts. "
              "\"At least\" is the longest of three times by the chip's data sheet: to move the "
              "bytes, to make the products, and to make them on as many multiprocessors as there "
              "are blocks.",
              "class=\"note\"");
  return html;
}

// The roofs that kernels stand under: a peak of a chip each.
struct Roof {
  const Chip* chip;
  std::string peak;
  double rate;  // in 10^12 operations a second

  // What memory allows at so many products by byte, in the same unit.
  double at(double intensity) const {
    return std::min(rate, 2 * intensity * chip->bandwidth * 1e-3);
  }
};

Html roofline_section(const PerfReport& report) {
  std::vector<Roof> roofs;
  std::vector<std::pair<const PerfResult*, Ceiling>> points;
  for (const PerfResult& result : report.results) {
    const std::optional<Ceiling> top = ceiling_of(result);
    if (!top || top->peak.empty() || top->intensity <= 0) continue;
    points.emplace_back(&result, *top);
    const bool known = std::ranges::any_of(roofs, [&](const Roof& roof) {
      return roof.chip == result.chip && roof.peak == top->peak;
    });
    if (!known) roofs.push_back({result.chip, top->peak, top->peak_rate});
  }
  if (points.empty()) return {};
  const auto best =
      std::ranges::max_element(points, {}, [](const auto& point) { return point.second.share; });
  double least = points.front().second.intensity, most = least;
  for (const auto& [result, top] : points) {
    least = std::min(least, top.intensity);
    most = std::max(most, top.intensity);
  }
  Figure figure;
  figure.title = "Roofline";
  figure.finding = fmt::format("{}{}.",
                               points.size() == 1 ? ""
                                                  : fmt::format("{} can come closest to its peak: ",
                                                                best->first->entry.text()),
                               ceiling_words(best->second, *best->first->chip));
  figure.x = {"useful products for each byte of memory", true};
  figure.y = {"10^12 operations/s", true};
  figure.note =
      "A point is what the data sheet allows a kernel at most; no kernel was timed. Points under "
      "their roof have fewer blocks than the chip has multiprocessors, or products on padding.";
  figure.x_column = 1;
  figure.table.head = {"kernel", "products for each byte", "at most"};
  constexpr std::array<const char*, 5> kColors = {"blue", "orange", "green", "purple", "gray"};
  figure.series.push_back({"kernels", 2, "dots", "vermillion"});
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const std::string title = fmt::format("{} peak of {}", roofs[i].peak, roofs[i].chip->name);
    figure.table.head.push_back(title);
    figure.series.push_back(
        {title, static_cast<int>(3 + i), "dashed", kColors[i % kColors.size()]});
    const double ridge = roofs[i].rate / (2 * roofs[i].chip->bandwidth * 1e-3);
    least = std::min(least, ridge / 4);
    most = std::max(most, 4 * ridge);
  }
  const auto add_row = [&](std::string_view kernel, double x, std::optional<double> at_most) {
    std::vector<Cell>& row = figure.table.rows.emplace_back();
    row.push_back(cell(kernel));
    row.push_back(number_cell(x, fmt::format("{:.4g}", x)));
    row.push_back(at_most ? number_cell(*at_most, fmt::format("{:.4g}", *at_most)) : Cell());
    for (const Roof& roof : roofs)
      row.push_back(at_most ? Cell() : number_cell(roof.at(x), fmt::format("{:.4g}", roof.at(x))));
  };
  for (const auto& [result, top] : points) add_row(result->entry.text(), top.intensity, top.rate());
  std::set<double> along = {least / 2, 2 * most};
  for (const Roof& roof : roofs) along.insert(roof.rate / (2 * roof.chip->bandwidth * 1e-3));
  for (const double x : along) add_row("", x, std::nullopt);
  return to_html(figure);
}

Html changes_section(const PerfReport& report) {
  if (!report.comparison) return {};
  Table table{.head = {"change", "kernel", "what", "before", "now", "lines"}, .rows = {}};
  for (const CounterChange& change : report.comparison->changes) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.push_back(cell(change.grew() ? "✗ grew" : "✓ shrank"));
    row.back().tone = change.grew() ? Tone::fail : Tone::pass;
    row.push_back(cell(change.kernel));
    row.push_back(cell(change.what));
    row.push_back(count_cell(static_cast<std::int64_t>(change.before)));
    row.push_back(count_cell(static_cast<std::int64_t>(change.after)));
    Html lines;
    for (const GrownLine& line : change.lines) lines += element("div", element("code", line.words));
    row.push_back({lines});
  }
  Html html;
  if (!table.rows.empty()) html += to_html(table);
  for (const std::string& words : report.comparison->unclear)
    html += element("p", "! Not compared: " + words, "class=\"near\"");
  if (html.text.empty()) html = element("p", "Nothing grew, and nothing shrank.");
  return html;
}

// What a launch takes of a multiprocessor, and how full the chip is.
void add_launch(const PerfLaunch& launch, const PerfResult& result, Table& table) {
  const Counts& all = launch.totals;
  std::vector<Cell>& row = table.rows.emplace_back();
  row.push_back({element("code", launch.entry)});
  row.push_back(count_cell(launch.blocks()));
  row.push_back(count_cell(launch.threads()));
  row.push_back(launch.compiled ? count_cell(launch.compiled->registers) : Cell());
  row.push_back(count_cell(launch.shared_bytes));
  row.push_back(launch.tensor_columns > 0 ? count_cell(launch.tensor_columns) : Cell());
  const Multiprocessor* const on = multiprocessor(result.entry.sm);
  if (on == nullptr) {
    row.insert(row.end(), 2, Cell());
  } else {
    const Occupancy held = occupancy(*on, launch.needs());
    row.push_back(number_cell(100 * held.share,
                              fmt::format("{:.0f} % ({})", 100 * held.share, name(held.limiter))));
    const bool known = result.chip != nullptr;
    const Waves in =
        known ? waves(launch.blocks(), result.chip->multiprocessors, held.blocks) : Waves();
    row.push_back(known ? number_cell(static_cast<double>(in.count),
                                      fmt::format("{}, {:.0f} % full", in.count, 100 * in.filled))
                        : Cell());
  }
  row.push_back(count_cell(static_cast<std::int64_t>(all[warp_instructions])));
  row.push_back(count_cell(static_cast<std::int64_t>(launch.least_memory_bytes())));
}

// The counters that any of the lines has, a column each.
Table lines_table(const PerfLaunch& launch) {
  Table table{.head = {"at", "instruction"}, .rows = {}};
  std::vector<CounterInfo> columns;
  for (const CounterInfo& info : counter_table()) {
    const bool any = std::ranges::any_of(
        launch.lines, [&](const PerfLine& line) { return line.counts[info.counter] > 0; });
    if (any && info.counter != thread_instructions) columns.push_back(info);
  }
  for (const CounterInfo& info : columns) table.head.emplace_back(info.words);
  for (const PerfLine& line : launch.lines) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.push_back(cell(line.inlined_at.empty()
                           ? line.at
                           : fmt::format("{} (inlined at {})", line.at, line.inlined_at)));
    row.push_back(cell(line.instruction));
    for (const CounterInfo& info : columns)
      row.push_back(count_cell(static_cast<std::int64_t>(line.counts[info.counter])));
  }
  return table;
}

Html kernel_section(const PerfResult& result, std::size_t index) {
  Html html = element("h3", element("code", result.entry.text()),
                      fmt::format("id=\"{}\"", anchor_of(index)));
  if (const std::optional<Ceiling> top = ceiling_of(result)) {
    std::string words = ceiling_words(*top, *result.chip);
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
    html += element("p", words + ".");
  }
  Html advice;
  for (const Advice& one : result.advice)
    advice += element("li", element("strong", std::string(one.rule)) + escaped(": " + one.words));
  if (!advice.text.empty()) html += element("ul", advice);
  Table launches{
      .head = {"entry", "blocks", "threads", "registers", "shared bytes", "tensor columns",
               "warps held (limited by)", "waves", "warp instructions", "bytes of memory at least"},
      .rows = {}};
  for (const PerfLaunch& launch : result.entry.launches) add_launch(launch, result, launches);
  html += to_html(launches);
  for (const PerfLaunch& launch : result.entry.launches) {
    if (launch.lines.empty()) continue;
    const Table lines = lines_table(launch);
    html += element("details",
                    element("summary", fmt::format("{}: {}", launch.entry,
                                                   counted(std::ssize(lines.rows), "line"))) +
                        to_text(lines));
  }
  return element("section", html, "class=\"kernel\"");
}

// What a rule of report.sarif is about.
std::string_view help_of(std::string_view rule) {
  static const std::map<std::string_view, std::string_view> kHelp = {
      {"uncoalesced",
       "The lanes of a warp use bytes that lie in more sectors than would hold them."},
      {"bank conflicts", "Lanes use different words of one bank of shared memory."},
      {"narrow", "Accesses side by side could be one of twice the width."},
      {"repeated loads", "A block loads the same sectors again and again."},
      {"idle barrier", "A barrier with no access between it and the one before."},
      {"serialized copies", "Copies are waited for before anything overlaps them."},
      {"fill", "A tensor copy fills much of its box with what lies outside the tensor."},
      {"grew", "A counter is larger than in the baseline."},
  };
  const auto found = kHelp.find(rule);
  return found == kHelp.end() ? "See docs/perf.md." : found->second;
}

}  // namespace

std::string perf_counted(const PerfReport& report) {
  std::set<std::string_view> kernels;
  for (const PerfResult& result : report.results) kernels.insert(result.entry.kernel);
  std::string words = counted(std::ssize(kernels), "kernel") + " counted";
  if (kernels.size() != report.results.size())
    words += " on " + counted(std::ssize(report.results), "problem");
  return fmt::format("{}, {} of advice", words, counted(pieces_of_advice(report), "piece"));
}

std::string perf_verdict(const PerfReport& report) {
  if (report.interrupted) return "interrupted: " + perf_counted(report);
  if (!report.comparison) return perf_counted(report);
  const std::int64_t grown = counters_that_grew(report);
  if (grown > 0) return fmt::format("{} grew since the baseline", counted(grown, "counter"));
  const std::size_t unclear = report.comparison->unclear.size();
  if (unclear == 0) return "no counter grew since the baseline";
  return fmt::format("no counter grew since the baseline, and {} not compared",
                     unclear == 1 ? "one thing was" : fmt::format("{} things were", unclear));
}

std::string perf_html(const PerfReport& report) {
  Html body = group("Changes", {changes_section(report)});
  body += group("Kernels", {kernels_section(report), roofline_section(report)});
  Html kernels;
  for (std::size_t i = 0; i < report.results.size(); ++i)
    kernels += of_group(kernel_section(report.results[i], i), report.results[i].entry.text());
  if (!kernels.text.empty()) body += group_heading("Kernels in detail") + kernels;
  const bool grew = counters_that_grew(report) > 0;
  const bool unclear =
      report.interrupted || (report.comparison && !report.comparison->unclear.empty());
  return html_page({.tone = grew      ? (report.strict ? Tone::fail : Tone::near)
                            : unclear ? Tone::near
                                      : Tone::pass,
                    .verb = "perf",
                    .what = " · run " + report.run_id,
                    .verdict = perf_verdict(report)},
                   body);
}

std::string perf_markdown(const PerfReport& report) {
  constexpr std::size_t kMostKernels = 100, kMostChanges = 50, kMostAdvice = 50;
  std::string out = fmt::format("## plumbline perf: {}\n", markdown_text(perf_verdict(report)));
  const auto more = [&](std::size_t all, std::size_t shown) {
    if (all > shown) out += fmt::format("- {} more\n", all - shown);
  };
  if (report.comparison && !report.comparison->changes.empty()) {
    out += "\n| | kernel | what | before | now | lines |\n|---|---|---|--:|--:|---|\n";
    std::size_t shown = 0;
    for (const CounterChange& change : report.comparison->changes) {
      if (shown++ == kMostChanges) break;
      std::string lines;
      for (const GrownLine& line : change.lines)
        lines += (lines.empty() ? "" : "; ") + markdown_code(line.words);
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", change.grew() ? "grew" : "shrank",
                         markdown_code(change.kernel), change.what, change.before, change.after,
                         lines);
    }
    out += "\n";
    more(report.comparison->changes.size(), kMostChanges);
  }
  if (report.comparison) {
    for (const std::string& words : report.comparison->unclear)
      out += fmt::format("- not compared: {}\n", markdown_text(words));
  }
  out +=
      "\n| kernel | problem | at least | of the peak | bound by | advice |\n"
      "|---|---|--:|--:|---|--:|\n";
  std::size_t shown = 0;
  for (const PerfResult& result : report.results) {
    if (shown++ == kMostKernels) break;
    const std::optional<Ceiling> top = ceiling_of(result);
    out += fmt::format("| {} sm_{} | {} | {} | {} | {} | {} |\n",
                       markdown_code(result.entry.kernel), result.entry.sm,
                       markdown_text(result.entry.problem), top ? top->least_time() : "",
                       top && !top->peak.empty() ? fmt::format("{:.3g} %", 100 * top->share) : "",
                       top ? name(top->bound) : "", result.advice.size());
  }
  out += "\n";
  more(report.results.size(), kMostKernels);
  std::size_t pieces = 0;
  for (const PerfResult& result : report.results) {
    for (const Advice& one : result.advice) {
      if (pieces++ >= kMostAdvice) continue;
      out += fmt::format("- **{}** in {}: {}\n", one.rule, markdown_code(result.entry.text()),
                         markdown_text(one.words));
    }
  }
  more(pieces, kMostAdvice);
  return out;
}

std::string perf_sarif(const PerfReport& report) {
  using Json = nlohmann::ordered_json;
  Json results = Json::array(), rules = Json::array();
  std::set<std::string, std::less<>> used;
  std::set<std::tuple<std::string, std::string, int>> said;  // kernels share headers
  const auto add = [&](std::string_view rule, std::string_view level, const std::string& words,
                       const std::string& path, int line) {
    const std::string file = relative_to(report.root, path);
    if (file.empty() || line <= 0 || !said.emplace(rule, file, line).second) return;
    used.emplace(rule);
    const std::string id = sarif_rule_id(std::string(rule));
    results.push_back(
        {{"ruleId", id},
         {"level", level},
         {"message", {{"text", readable(words)}}},
         {"locations", Json::array({sarif_location(file, line)})},
         {"partialFingerprints",
          {{"plumblinePerf/v1",
            fmt::format("{:016x}", fingerprint(fmt::format("{}\n{}\n{}", id, file, line)))}}}});
  };
  if (report.comparison) {
    for (const CounterChange& change : report.comparison->changes) {
      for (const GrownLine& line : change.lines) {
        add("grew", report.strict ? "error" : "warning",
            fmt::format("{} of {}: {}", change.what, change.kernel, line.words), line.file,
            line.line);
      }
    }
  }
  for (const PerfResult& result : report.results) {
    for (const Advice& one : result.advice)
      add(one.rule, "note", fmt::format("{} In {}.", one.words + ".", result.entry.text()),
          one.file, one.line);
  }
  for (const std::string& rule : used) {
    rules.push_back({{"id", sarif_rule_id(rule)},
                     {"shortDescription", {{"text", rule}}},
                     {"fullDescription", {{"text", help_of(rule)}}},
                     {"help", {{"text", help_of(rule)}}},
                     {"properties", {{"tags", {"gpu", "performance"}}}}});
  }
  return sarif_document(report.version, "perf", std::move(rules), std::move(results));
}

}  // namespace plumbline
