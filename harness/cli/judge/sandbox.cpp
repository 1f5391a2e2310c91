// SPDX-License-Identifier: MIT
#include "harness/cli/judge/sandbox.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "harness/launch/interrupt.h"
#include "kernels/manifest/command.h"
#include "kernels/manifest/compile.h"
#include "kernels/registry.h"
#include "oracles/base/shell_word.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOutput = 64 << 10;
constexpr double kGrace = 5;  // seconds to end by itself
constexpr int kTimedOut = 124, kKilled = 137;

// The command line of bwrap, word by word.
class Bubble {
 public:
  Bubble() {
    add({"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--proc",
         "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", "HOME", "/tmp"});
    show("/usr");
    // On most systems these are links into /usr.
    for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
      std::error_code ignored;
      if (fs::is_symlink(path, ignored)) {
        add({"--symlink", fs::read_symlink(path, ignored).string(), path});
      } else {
        show(path);
      }
    }
    show("/etc/ld.so.cache");
    show("/etc/alternatives");
  }

  // Readable, where it is.
  void show(const fs::path& path) { add({"--ro-bind-try", path.string(), path.string()}); }

  void add(const std::vector<std::string>& words) {
    for (const std::string& word : words)
      command_ += (command_.empty() ? "" : " ") + shell_word(word);
  }

  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

std::string read_start(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostOutput, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

Status check_sandbox() {
  Bubble bubble;
  bubble.add({"prlimit", "--core=0", "--", "timeout", "9", "true"});
  const CommandOutcome tried = run_command(bubble.command());
  if (tried.succeeded) return {};
  const std::string why = tried.output.substr(0, tried.output.find('\n'));
  if (why.find("bwrap: not found") != std::string::npos) {
    return Error{ErrorKind::cannot_run, "a sandbox needs bwrap, which is not there", "",
                 "apt-get install bubblewrap; or --no-sandbox for submissions you trust"};
  }
  return Error{ErrorKind::cannot_run, fmt::format("the sandbox cannot start: {}", why), "",
               "it needs user namespaces, prlimit and timeout; or --no-sandbox for submissions you "
               "trust"};
}

Result<SandboxOutcome> run_in_sandbox(const SandboxCommand& given, const fs::path& folder,
                                      const SandboxLimits& limits) {
  const fs::path program = own_program();
  // timeout is nearest to the program, which keeps what it has when it is told to end.
  std::vector<std::string> command = {"prlimit",
                                      "--core=0",
                                      fmt::format("--as={}", limits.memory_bytes),
                                      fmt::format("--fsize={}", limits.written_bytes),
                                      "--",
                                      "timeout",
                                      "-s",
                                      "INT",
                                      "-k",
                                      fmt::format("{}", kGrace),
                                      fmt::format("{}", std::ceil(limits.seconds))};
  command.insert(command.end(), given.words.begin(), given.words.end());
  Bubble bubble;
  const std::string nvcc = find_nvcc();
  bubble.show(program);
  bubble.show(program.parent_path().parent_path() / "lib");
  bubble.show(default_kernel_folder());
  for (const fs::path& path : given.shown) bubble.show(path);
  if (!nvcc.empty()) {
    const fs::path bin = fs::canonical(nvcc).parent_path();
    // Only the folder of a toolkit: a script that is called nvcc may lie in a home folder.
    if (fs::exists(bin.parent_path() / "nvvm")) bubble.show(bin.parent_path());
    bubble.add({"--setenv", "PATH", bin.string() + ":/usr/bin:/bin"});
  }
  bubble.add({"--setenv", "PLUMBLINE_KERNELS", default_kernel_folder()});
  for (const auto& [name, value] : given.environment) bubble.add({"--setenv", name, value});
  bubble.add({"--bind", folder.string(), folder.string(), "--chdir", folder.string()});
  std::string line = limits.isolated ? bubble.command() : "";
  if (!limits.isolated && !given.environment.empty()) {
    line = "env";
    for (const auto& [name, value] : given.environment)
      line += " " + shell_word(name + "=" + value);
  }
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + shell_word(word);
  const fs::path output = folder / "output.txt";
  // exec: killing the command kills bwrap, and with it all that it holds.
  const auto start = std::chrono::steady_clock::now();
  const CommandOutcome ran =
      run_command(fmt::format("cd {} && exec {} >{} 2>&1", shell_word(folder.string()), line,
                              shell_word(output.string())),
                  &interrupt_flag());
  SandboxOutcome out;
  out.exit_code = ran.exit_code;
  if (!fs::exists(output))
    return Error{ErrorKind::cannot_run, "the sandbox could not be started: " + ran.output,
                 folder.string(), ""};
  // What is killed earlier took too much memory.
  const bool late =
      std::chrono::steady_clock::now() - start >= std::chrono::duration<double>(limits.seconds);
  out.timed_out = out.exit_code == kTimedOut || (out.exit_code == kKilled && late);
  out.killed = out.exit_code == kKilled && !late;
  out.output = read_start(output);
  return out;
}

}  // namespace plumbline
