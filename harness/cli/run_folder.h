// SPDX-License-Identifier: MIT
// The folder of one run: record.jsonl, which grows with every finished case, and what is written
// from the whole record once the run has ended, when record.jsonl goes. `plumbline report` writes
// the same files again.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "oracles/base/line_file.h"
#include "oracles/base/result.h"
#include "reports/html/html.h"
#include "reports/record/record.h"

namespace plumbline {

inline constexpr const char* kLatestOfCases = "latest-cases";
inline constexpr const char* kLatestOfPerf = "latest-perf";

// `name`, beside a run's folder, leads to it.
void link_beside(const std::filesystem::path& folder, const char* name);

// Writes a file whole or not at all, and never through a link that another user put into the
// folder.
Status write_file(const std::filesystem::path& path, const std::string& text);

// The numbers of the figures of report.html, in `folder`/tables.
Status write_tables(const std::filesystem::path& folder, const RunRecord& record,
                    const PageOptions& page = {});

// record.json, report.html, junit.xml, summary.md, report.sarif and gl-code-quality.json. In
// junit.xml mistrusted evidence is a failure unless it is allowed. Errors (bad_input): the folder
// cannot be created or written.
Status write_reports(const std::filesystem::path& folder, const RunRecord& record,
                     bool allow_mistrusted, const PageOptions& page = {});

class RunFolder {
 public:
  // `root`/`name`, with a record.jsonl. What an earlier run of the same name left there goes with
  // the first line of this one, so that a killed run is never taken for it. Errors (bad_input): it
  // cannot be written, or another run of that name is writing there.
  static Result<RunFolder> create(const std::filesystem::path& root, const std::string& name);

  // Whether an earlier run of this name left its record here, whole or up to its last case.
  bool has_record() const;

  // A line about the run: the first one, and again where more of it gets known.
  void begin(const RunRecord& so_far);
  void append(const CaseRecord& record);  // a line, flushed
  void append(const MutantRecord& record);
  void append_found(const RunRecord& found);  // what propagate found; nothing else is in it

  // Writes the reports. Where that is done record.jsonl, which says nothing more, is removed.
  Status finish(const RunRecord& record, bool allow_mistrusted, const PageOptions& page = {});
  void link_as_latest();           // `root`/latest leads here
  void link_as_latest_of_cases();  // and `root`/latest-cases, whose failures can run again

  const std::filesystem::path& path() const { return path_; }

 private:
  void add_line(const std::string& line);

  std::filesystem::path path_;
  LineFile lines_;
  std::map<std::string, double> closest_;  // by kernel: the largest share of its bound so far
  bool begun_ = false;
};

}  // namespace plumbline
