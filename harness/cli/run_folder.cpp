// SPDX-License-Identifier: MIT
#include "harness/cli/run_folder.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/record/json.h"
#include "reports/sarif.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Error cannot_create(const fs::path& path, const std::string& why) {
  return {ErrorKind::bad_input, "cannot write into the output folder: " + why, path.string(),
          "choose another one with --out DIR"};
}

constexpr std::array<const char*, 5> kReports = {"record.json", "report.html", "junit.xml",
                                                 "summary.md", "report.sarif"};

}  // namespace

Status write_file(const fs::path& path, const std::string& text) {
  // A new file whose name nobody can foresee: mkstemp() follows no link.
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
  if (!written || std::fflush(out) != 0 || fchmod(descriptor, 0644) != 0) {
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
  const std::array<std::string, 5> texts = {record_json(record), report_html(record, page),
                                            junit_xml(record, allow_mistrusted),
                                            summary_markdown(record), sarif_json(record, root)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Status written = write_file(folder / kReports[i], texts[i]);
    if (!written) return written;
  }
  return {};
}

Result<RunFolder> RunFolder::create(const fs::path& root, const std::string& name) {
  RunFolder folder;
  folder.root_ = root;
  folder.path_ = root / name;
  std::error_code code;
  fs::create_directories(folder.path_, code);
  if (code) return cannot_create(folder.path_, code.message());
  Result<LineFile> lines = LineFile::open(folder.path_ / "record.jsonl");
  if (!lines) return cannot_create(folder.path_, lines.error().message);
  folder.lines_ = *std::move(lines);
  if (flock(folder.lines_.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{ErrorKind::bad_input, "the same run is writing here already",
                 folder.path_.string(), "wait for it, or give this one another --out"};
  }
  return folder;
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

void RunFolder::begin(const RunRecord& so_far) { add_line(run_json_line(so_far)); }

void RunFolder::append(const CaseRecord& record) { add_line(case_json_line(record)); }

void RunFolder::append(const MutantRecord& record) { add_line(mutant_json_line(record)); }

void RunFolder::append_found(const RunRecord& found) { add_line(found_json_line(found)); }

Status RunFolder::finish(const RunRecord& record, bool allow_mistrusted) {
  return write_reports(path_, record, allow_mistrusted);
}

void RunFolder::link(const char* name) {
  std::error_code code;
  fs::remove(root_ / name, code);
  fs::create_directory_symlink(path_.filename(), root_ / name, code);
}

void RunFolder::link_as_latest() { link("latest"); }

void RunFolder::link_as_latest_of_cases() {
  link_as_latest();
  link(kLatestOfCases);
}

}  // namespace plumbline
