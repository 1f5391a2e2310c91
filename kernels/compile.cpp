// SPDX-License-Identifier: MIT
#include "kernels/compile.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "kernels/command.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Where #include "device/..." is looked for: the folder that holds device/, be it the manifest's
// own or the one above (kernels/, where kernels and device/ lie side by side). Empty when there is
// none.
fs::path include_folder(const Manifest& kernel) {
  std::error_code ignored;
  const fs::path own = fs::absolute(fs::path(kernel.path), ignored).parent_path();
  for (const fs::path& folder : {own, own.parent_path()}) {
    if (fs::is_directory(folder / "device", ignored)) return folder;
  }
  return {};
}

// The source, and every shared header it may include.
std::vector<fs::path> inputs(const fs::path& source, const fs::path& includes) {
  std::vector<fs::path> files = {source};
  std::error_code ignored;
  if (includes.empty()) return files;
  for (const fs::directory_entry& file : fs::directory_iterator(includes / "device", ignored))
    files.push_back(file.path());
  return files;
}

bool up_to_date(const fs::path& ptx, const std::vector<fs::path>& inputs) {
  std::error_code missing;
  const auto written = fs::last_write_time(ptx, missing);
  if (missing) return false;
  for (const fs::path& input : inputs) {
    const auto changed = fs::last_write_time(input, missing);
    if (missing || written < changed) return false;
  }
  return true;
}

// The compiler's first complaint, which is the one to mend.
std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first.empty() ? "the compiler failed without a word" : first;
}

Error cannot_compile(const std::string& where, std::string message, std::string hint) {
  return {ErrorKind::cannot_run, std::move(message), where, std::move(hint)};
}

Status compile(const Manifest& kernel, const fs::path& source, const fs::path& includes, int target,
               const std::string& nvcc) {
  // Under another name first: a run beside this one must never read half a file.
  const std::string ptx = kernel.ptx_path(target);
  const std::string unfinished = fmt::format("{}.{}.unfinished", ptx, ::getpid());
  const std::string include = includes.empty() ? "" : fmt::format(" -I {}", shell_quoted(includes));
  const std::string command = fmt::format("{} {} -arch=compute_{}{} -o {} {}", shell_quoted(nvcc),
                                          kCompilerFlags, kernel.architecture(target), include,
                                          shell_quoted(unfinished), shell_quoted(source));
  const CommandOutcome outcome = run_command(command);
  std::error_code failure;
  if (!outcome.succeeded) {
    fs::remove(unfinished, failure);
    return cannot_compile(
        source, fmt::format("does not compile for sm_{}: {}", target, first_error(outcome.output)),
        "the command was " + command);
  }
  fs::rename(unfinished, ptx, failure);
  if (failure) return cannot_compile(ptx, "cannot be written: " + failure.message(), "");
  return {};
}

}  // namespace

std::string find_nvcc() {
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("CUDA_HOME"); home && *home)
    folders.push_back(fs::path(home) / "bin");
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  std::error_code ignored;
  // <root>/build/<preset>/bin/plumbline, and the compiler that scripts/setup put into
  // <root>/build/cuda.
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  folders.push_back(bin.parent_path().parent_path() / "cuda" / "bin");
  for (const fs::path& folder : folders) {
    const fs::path nvcc = folder / "nvcc";
    if (::access(nvcc.c_str(), X_OK) == 0) return nvcc;
  }
  return {};
}

Status compile_outdated(const Manifest& kernel) {
  if (kernel.source.empty()) return {};
  const fs::path source = fs::path(kernel.path).parent_path() / kernel.source;
  std::error_code ignored;
  if (!fs::exists(source, ignored)) {
    return cannot_compile(source, "cannot be read",
                          fmt::format("{} names it as its source", kernel.path));
  }
  const fs::path includes = include_folder(kernel);
  const std::vector<fs::path> read = inputs(source, includes);
  for (const int target : kernel.targets) {
    if (up_to_date(kernel.ptx_path(target), read)) continue;
    const std::string nvcc = find_nvcc();
    if (nvcc.empty()) {
      return cannot_compile(source, fmt::format("there is no nvcc to compile it for sm_{}", target),
                            "run scripts/setup, or set CUDA_HOME to a CUDA Toolkit 12 or 13");
    }
    if (Status compiled = compile(kernel, source, includes, target, nvcc); !compiled)
      return compiled;
  }
  return {};
}

}  // namespace plumbline
