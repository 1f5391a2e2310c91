// SPDX-License-Identifier: MIT
// plumbline report: the files of a run written again, from one record or from the shards of a run.
#include <fmt/format.h>

#include <filesystem>

#include "harness/cli/run_folder.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/run/evidence.h"
#include "reports/record/json.h"
#include "reports/record/merge.h"

namespace plumbline {

ExitCode report(const Arguments& arguments, Terminal& terminal) {
  namespace fs = std::filesystem;
  std::vector<std::string> runs = arguments.names;
  if (runs.empty()) runs.push_back(arguments.out + "/latest");
  std::vector<NamedRecord> records;
  for (const std::string& run : runs) {
    Result<RunRecord> record = read_record(run);
    if (!record) return report_error(record.error());
    records.push_back({run, *std::move(record)});
  }
  PageOptions page;
  if (!arguments.baseline.empty()) {
    Result<Baseline> baseline = read_baseline(arguments.baseline);
    if (!baseline) return report_error(baseline.error());
    page.baseline = *std::move(baseline);
  }
  const bool shards = records.front().record.shard.has_value();
  Result<RunRecord> merged = merge_records(std::move(records));
  if (!merged) return report_error(merged.error());
  if (shards && merged->verb == "verify") weigh_evidence(*merged);
  weigh_incomplete(*merged);

  // A part of a run does not take the place of the whole, or of one of its shards.
  const std::string name = merged->run_id + (merged->missing_shards.empty() ? "" : "-part");
  const fs::path folder = arguments.report_folder.empty() ? fs::path(arguments.out) / name
                                                          : fs::path(arguments.report_folder);
  const Status written = write_reports(folder, *merged, arguments.allow_mistrusted, page);
  if (!written) return report_error(written.error());
  if (arguments.tables) {
    const Status tables = write_tables(folder, *merged, page);
    if (!tables) return report_error(tables.error());
  }
  if (shards) merged->elapsed_ms = 0;  // of machines beside each other: no time that anyone waited
  print_cards(*merged, arguments, terminal);
  print_record(*merged, arguments, terminal);
  print_report_path(folder, arguments, terminal);
  if (arguments.tables && arguments.format == OutputFormat::human && !arguments.quiet)
    terminal.print(terminal.dim(fmt::format("tables: {}", (folder / "tables").string())));
  print_annotations(*merged, arguments, terminal);
  merged->interrupted = false;  // that was another run's end; this one is whole
  return exit_code(*merged, arguments);
}

}  // namespace plumbline
