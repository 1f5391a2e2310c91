// SPDX-License-Identifier: MIT
#include "kernels/manifest/compile.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "kernels/manifest/command.h"
#include "kernels/manifest/compiler_flags.h"
#include "oracles/base/shell_word.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Everything a kernel is compiled with but its target.
struct Recipe {
  fs::path source;
  fs::path includes;  // include_folder()
  std::string flags;
};

Recipe recipe(const Manifest& kernel) {
  std::error_code ignored;
  const fs::path folder = fs::absolute(fs::path(kernel.path), ignored).parent_path();
  Recipe recipe{folder / kernel.source, include_folder(kernel), std::string(kCompilerFlags)};
  if (!kernel.flags.empty()) {
    recipe.flags = "-ptx -lineinfo";
    for (const std::string& flag : kernel.flags)
      recipe.flags += fmt::format(" {}", shell_word(flag));
  }
  if (!recipe.includes.empty()) recipe.flags += fmt::format(" -I {}", shell_word(recipe.includes));
  return recipe;
}

// The source, and every shared header it may include.
std::vector<fs::path> likely_inputs(const Recipe& recipe) {
  std::vector<fs::path> files = {recipe.source};
  std::error_code ignored;
  if (recipe.includes.empty()) return files;
  for (const fs::directory_entry& file :
       fs::recursive_directory_iterator(recipe.includes / "device", ignored)) {
    if (file.is_regular_file(ignored)) files.push_back(file.path());
  }
  return files;
}

// What nvcc is told, for one target.
std::string compiler_arguments(const Manifest& kernel, const Recipe& recipe, int target) {
  return fmt::format("{} -arch=compute_{}", recipe.flags, kernel.architecture(target));
}

// The compiler by a name that another version does not have: /usr/local/cuda is a link.
std::string compiler_name(const std::string& nvcc) {
  std::error_code failure;
  const fs::path name = fs::canonical(nvcc, failure);
  return failure ? nvcc : name.string();
}

// What a PTX file was made from: the arguments, the compiler, then a file on each line.
fs::path inputs_path(const fs::path& ptx) { return ptx.string() + ".inputs"; }

// The files that a rule for make names: "k.ptx : k.cu \\<newline> my\ header.cuh". Relative ones
// are seen from `folder`.
std::vector<fs::path> prerequisites(std::istream& rule, const fs::path& folder) {
  std::vector<fs::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.push_back(folder / word);
    word.clear();
  };
  std::getline(rule, word, ':');
  word.clear();
  for (char c = 0; rule.get(c);) {
    if (c == '\\' && rule.get(c) && c != '\n') {
      word += c;
    } else if (c == ' ' || c == '\n') {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return files;
}

Error cannot_compile(const std::string& where, std::string message, std::string hint) {
  return {ErrorKind::cannot_run, std::move(message), where, std::move(hint)};
}

// Takes the place of what lies there, also of a link, and does not write through it.
Status write_inputs(const fs::path& ptx, const Recipe& recipe, const std::string& made_by,
                    const fs::path& rule) {
  const std::string unfinished = fmt::format("{}.{}.inputs", ptx.string(), ::getpid());
  std::ifstream text(rule);
  std::ofstream inputs(unfinished);
  inputs << made_by << '\n';
  for (const fs::path& file : prerequisites(text, recipe.source.parent_path()))
    inputs << file.string() << '\n';
  inputs.close();
  std::error_code failure, ignored;
  if (inputs) fs::rename(unfinished, inputs_path(ptx), failure);
  if (inputs && !failure) return {};
  // A list of what an older one was made from would make a stale one look new.
  for (const fs::path& file : {fs::path(unfinished), inputs_path(ptx), ptx})
    fs::remove(file, ignored);
  return cannot_compile(inputs_path(ptx),
                        "cannot be written" + (failure ? ": " + failure.message() : std::string()),
                        "is the disk full?");
}

bool up_to_date(const Manifest& kernel, const Recipe& recipe, int target) {
  const fs::path ptx = kernel.ptx_path(target);
  std::error_code missing;
  const auto written = fs::last_write_time(ptx, missing);
  if (missing) return false;
  std::vector<fs::path> inputs;
  if (std::ifstream listed(inputs_path(ptx)); listed) {
    inputs.push_back(recipe.source);
    std::string line;
    if (!std::getline(listed, line) || line != compiler_arguments(kernel, recipe, target))
      return false;
    // Where there is no compiler, another could not make it anew.
    const std::string nvcc = find_nvcc();
    if (!std::getline(listed, line) || (!nvcc.empty() && line != compiler_name(nvcc))) return false;
    while (std::getline(listed, line)) inputs.emplace_back(line);
  } else {
    inputs = likely_inputs(recipe);
  }
  return std::all_of(inputs.begin(), inputs.end(), [&](const fs::path& input) {
    const auto changed = fs::last_write_time(input, missing);
    return !missing && written >= changed;
  });
}

// The compiler's first complaint, which is the one to mend.
std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first.empty() ? "the compiler failed and printed no message" : first;
}

Status compile(const Manifest& kernel, const Recipe& recipe, int target, const std::string& nvcc) {
  // Under another name first: a run beside this one must never read half a file.
  std::error_code failure;
  const fs::path ptx = fs::absolute(kernel.ptx_path(target), failure);
  const std::string unfinished = fmt::format("{}.{}.unfinished", ptx.string(), ::getpid());
  const std::string rule = unfinished + ".d";
  const std::string command = fmt::format(
      "cd {} && exec {} {} -MMD -MF {} -o {} {}", shell_word(recipe.source.parent_path()),
      shell_word(nvcc), compiler_arguments(kernel, recipe, target), shell_word(rule),
      shell_word(unfinished), shell_word(recipe.source));
  const CommandOutcome outcome = run_command(command);
  if (!outcome.succeeded) {
    fs::remove(unfinished, failure);
    fs::remove(rule, failure);
    return cannot_compile(
        recipe.source,
        fmt::format("does not compile for sm_{}: {}", target, first_error(outcome.output)),
        "the command was " + command);
  }
  // The PTX first: who is stopped between the two compiles once more, and never trusts an old one.
  fs::rename(unfinished, ptx, failure);
  if (failure) return cannot_compile(ptx, "cannot be written: " + failure.message(), "");
  const Status listed = write_inputs(
      ptx, recipe,
      fmt::format("{}\n{}", compiler_arguments(kernel, recipe, target), compiler_name(nvcc)), rule);
  fs::remove(rule, failure);
  return listed;
}

}  // namespace

fs::path include_folder(const Manifest& kernel) {
  std::error_code ignored;
  const fs::path own = fs::absolute(fs::path(kernel.path), ignored).parent_path();
  for (const fs::path& folder : {own, own.parent_path(), own.parent_path().parent_path()}) {
    if (fs::is_directory(folder / "device", ignored)) return folder;
  }
  return {};
}

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

bool is_compiled(const Manifest& kernel, int target) {
  std::error_code ignored;
  if (kernel.source.empty()) return fs::exists(kernel.ptx_path(target), ignored);
  return up_to_date(kernel, recipe(kernel), target);
}

Status compile_outdated(const Manifest& kernel, std::optional<int> only) {
  if (kernel.source.empty()) return {};
  const Recipe how = recipe(kernel);
  for (const fs::path& path : {how.source, how.includes}) {
    if (const char special = special_to_shell(path.string())) {
      return cannot_compile(
          path,
          fmt::format("the shell that nvcc calls would interpret the {:?} in this path", special),
          "rename it");
    }
  }
  std::error_code ignored;
  if (!fs::exists(how.source, ignored)) {
    return cannot_compile(how.source, "cannot be read",
                          fmt::format("{} names it as its source", kernel.path));
  }
  for (const int target : kernel.targets) {
    if (only && target != *only) continue;
    if (up_to_date(kernel, how, target)) continue;
    const std::string nvcc = find_nvcc();
    if (nvcc.empty()) {
      return cannot_compile(how.source,
                            fmt::format("there is no nvcc to compile it for sm_{}", target),
                            "run scripts/setup, or set CUDA_HOME to a CUDA Toolkit 12 or 13");
    }
    if (Status compiled = compile(kernel, how, target, nvcc); !compiled) return compiled;
  }
  return {};
}

}  // namespace plumbline
