// SPDX-License-Identifier: MIT
// Case files on disk: reading one, reading a kernel's folder, saving one so that a reader never
// sees half of it.
#include "fuzz/case_file/corpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "fuzz/case_file/notes.h"
#include "oracles/base/file.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

Error cannot(std::string_view verb, const std::string& path, int error, std::string hint) {
  return {ErrorKind::bad_input, fmt::format("cannot {} {}: {}", verb, path, std::strerror(error)),
          "", std::move(hint)};
}

// Writes beside the target and renames: readers see the old file, none, or all of the new one.
Status write_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  File file(std::fopen(temporary.c_str(), "wb"), &std::fclose);
  if (!file) return cannot("write", path, errno, "choose a folder that can be written");
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    return cannot("write", path, error, "is the disk full?");
  }
  return {};
}

// What makes two files the same case: everything but comments, decimals and recorded results.
std::string essence(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('#') || is_case_note(line.substr(0, line.find(' ')))) continue;
    const std::string_view content = line.substr(0, line.find('#'));
    kept += fmt::format("{}\n", content.substr(0, content.find_last_not_of(" \t\r") + 1));
  }
  return kept;
}

}  // namespace

Result<CaseFile> read_case(const std::string& path, const Registry& registry) {
  const Result<std::string> text = read_text_file(path, "name a case file, as verify saves them");
  if (!text) return text.error();
  return parse_case(*text, path, registry);
}

Result<CorpusCases> read_corpus(const std::string& corpus_folder, const Manifest& kernel,
                                const Registry& registry, bool committed) {
  const fs::path folder = fs::path(corpus_folder) / kernel.name;
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".case") paths.push_back(entry->path().string());
  }
  // A kernel without a folder has no corpus yet.
  if (error && error != std::errc::no_such_file_or_directory) {
    return Error{ErrorKind::bad_input,
                 fmt::format("cannot list {}: {}", folder.string(), error.message()), "", ""};
  }
  std::sort(paths.begin(), paths.end());
  CorpusCases corpus;
  for (const std::string& path : paths) {
    Result<CaseFile> file = read_case(path, registry);
    if (!file && !committed) {
      corpus.unfit.push_back(file.error());
      continue;
    }
    if (!file) {
      // A gate leaves out no case silently: who changes the manifest deletes it, or passes
      // --no-corpus.
      Error unfit = file.error();
      unfit.hint += fmt::format("{}saved for another manifest? delete the file, or --no-corpus",
                                unfit.hint.empty() ? "" : "; ");
      return unfit;
    }
    if (file->test_case.kernel->name != kernel.name) {
      return Error{
          ErrorKind::bad_input,
          fmt::format("this case is for {}, not for {}", file->test_case.kernel->name, kernel.name),
          path, fmt::format("move it to {}/{}", corpus_folder, file->test_case.kernel->name)};
    }
    file->test_case.origin = "corpus";
    corpus.files.push_back(std::move(*file));
  }
  return corpus;
}

Result<SavedCase> save_case(const std::string& corpus_folder, const CaseFile& file) {
  const fs::path folder = fs::path(corpus_folder) / file.test_case.kernel->name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Error{ErrorKind::bad_input,
                 fmt::format("cannot create {}: {}", folder.string(), error.message()), "",
                 "choose a folder that can be written"};
  }
  const std::string text = write_case(file);
  const std::string name = short_name(file.test_case.key());
  // The name is short, and leaves out the seed: another case may have it already.
  for (int copy = 1;; ++copy) {
    const std::string suffix = copy == 1 ? "" : fmt::format("-{}", copy);
    const std::string path = (folder / fmt::format("{}{}.case", name, suffix)).string();
    if (!fs::exists(path, error)) {
      if (Status written = write_atomically(path, text); !written) return written.error();
      return SavedCase{path, true};
    }
    const Result<std::string> present =
        read_text_file(path, "name a case file, as verify saves them");
    if (!present) return present.error();
    if (essence(*present) == essence(text)) return SavedCase{path, false};
  }
}

}  // namespace plumbline
