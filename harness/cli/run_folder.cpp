// SPDX-License-Identifier: MIT
#include "harness/cli/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reports/change.h"
#include "reports/code_quality.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/places.h"
#include "reports/record/json.h"
#include "reports/sarif.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Error cannot_create(const fs::path& path, const std::string& why) {
  return {ErrorKind::bad_input, "cannot write into the output folder: " + why, path.string(),
          "choose another one with --out DIR"};
}

constexpr const char* kLog = "record.jsonl";

constexpr std::array<const char*, 6> kReports = {"record.json",  "report.html",
                                                 "junit.xml",    "summary.md",
                                                 "report.sarif", "gl-code-quality.json"};

// Whether the path still leads to the open file: what held it may just have taken it away.
bool is_at(int descriptor, const fs::path& path) {
  struct stat open_file{}, there{};
  return fstat(descriptor, &open_file) == 0 && stat(path.c_str(), &there) == 0 &&
         open_file.st_dev == there.st_dev && open_file.st_ino == there.st_ino;
}

// What has been renamed into the folder stays there when the machine stops now.
bool sync_to_disk(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = fsync(descriptor) == 0;
  close(descriptor);
  return synced;
}

}  // namespace

Status write_file(const fs::path& path, const std::string& text) {
  // A new file with a name that cannot be foreseen: mkstemp() follows no link.
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  std::FILE* out = descriptor < 0 ? nullptr : fdopen(descriptor, "wb");
  const auto failed = [&] {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) std::remove(temporary.c_str());
    return Error{ErrorKind::bad_input, "cannot write: " + why, path.string(),
                 "make room, or choose another place"};
  };
  if (out == nullptr) return failed();
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (!written || std::fflush(out) != 0 || fchmod(descriptor, 0644) != 0 ||
      fsync(descriptor) != 0) {
    const Error error = failed();
    std::fclose(out);
    return error;
  }
  std::fclose(out);
  std::error_code code;
  fs::rename(temporary, path, code);
  if (code)
    return Error{ErrorKind::bad_input, "cannot write: " + code.message(), path.string(), ""};
  return {};
}

Status write_reports(const fs::path& folder, const RunRecord& record, bool allow_mistrusted,
                     const PageOptions& page) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return cannot_create(folder, code.message());
  const std::string root = fs::current_path(code).string();
  // People and tools read paths from where they are; record.json keeps them as they were found.
  const std::optional<RunRecord> relative = with_relative_paths(record, root);
  const RunRecord& shown = relative ? *relative : record;
  std::vector<KernelChange> since;
  if (page.baseline) since = changes(*page.baseline, baseline_of(record));
  const std::array<std::string, kReports.size()> texts = {
      record_json(record),
      report_html(shown, page),
      junit_xml(shown, allow_mistrusted, since, page.strict_baseline),
      summary_markdown(shown, page.baseline),
      sarif_json(shown, root),
      code_quality_json(shown, root)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Status written = write_file(folder / kReports[i], texts[i]);
    if (!written) return written;
  }
  return {};
}

Status write_tables(const fs::path& folder, const RunRecord& record, const PageOptions& page) {
  for (const auto& [path, text] : table_files(report_tables(record, page))) {
    const fs::path file = folder / "tables" / path;
    std::error_code code;
    fs::create_directories(file.parent_path(), code);
    if (code) return cannot_create(file.parent_path(), code.message());
    if (const Status written = write_file(file, text); !written) return written;
  }
  return {};
}

void link_beside(const fs::path& folder, const char* name) {
  std::error_code code;
  const fs::path link = folder.parent_path() / name;
  // In one step: who reads `latest` meanwhile finds the run before.
  const fs::path unfinished = fmt::format("{}.{}", link.string(), ::getpid());
  fs::remove(unfinished, code);
  fs::create_directory_symlink(folder.filename(), unfinished, code);
  fs::rename(unfinished, link, code);
  if (code) fs::remove(unfinished, code);
}

Result<RunFolder> RunFolder::create(const fs::path& root, const std::string& name) {
  RunFolder folder;
  folder.path_ = root / name;
  std::error_code code;
  fs::create_directories(folder.path_, code);
  if (code) return cannot_create(folder.path_, code.message());
  const fs::path log = folder.path_ / kLog;
  do {
    Result<LineFile> lines = LineFile::open(log);
    if (!lines) return cannot_create(folder.path_, lines.error().message);
    folder.lines_ = *std::move(lines);
    if (flock(folder.lines_.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return Error{ErrorKind::bad_input, "the same run is writing here already",
                   folder.path_.string(), "wait for it, or give this one another --out"};
    }
  } while (!is_at(folder.lines_.descriptor(), log));
  return folder;
}

bool RunFolder::has_record() const {
  std::error_code code;
  return fs::exists(path_ / kReports.front(), code) || fs::file_size(path_ / kLog, code) > 0;
}

void RunFolder::add_line(const std::string& line) {
  if (!begun_) {
    begun_ = true;
    std::error_code code;
    for (const char* report : kReports) fs::remove(path_ / report, code);
    lines_.clear();
  }
  lines_.append(line);  // on a full disk, finish() says what is wrong
}

void RunFolder::begin(const RunRecord& so_far) {
  add_line(run_json_line(so_far));
  if (so_far.planned > 0) link_as_latest();  // a killed run is the latest one, too
}

void RunFolder::append(const CaseRecord& record) {
  // The details of a case that passes are kept where it may be its kernel's closest to the bound.
  double& closest = closest_[record.kernel];
  bool details = record.verdict != Verdict::pass;
  for (const OutputRecord& output : record.outputs) {
    details = details || output.verdict.worst_share >= closest;
    closest = std::max(closest, output.verdict.worst_share);
  }
  add_line(case_log_line(record, details));
}

void RunFolder::append(const MutantRecord& record) { add_line(mutant_json_line(record)); }

void RunFolder::append_found(const RunRecord& found) { add_line(found_json_line(found)); }

Status RunFolder::finish(const RunRecord& record, bool allow_mistrusted, const PageOptions& page) {
  const Status written = write_reports(path_, record, allow_mistrusted, page);
  std::error_code code;
  if (written && sync_to_disk(path_)) fs::remove(path_ / kLog, code);  // record.json has all of it
  return written;
}

void RunFolder::link_as_latest() { link_beside(path_, "latest"); }

void RunFolder::link_as_latest_of_cases() {
  link_as_latest();
  link_beside(path_, kLatestOfCases);
}

}  // namespace plumbline
