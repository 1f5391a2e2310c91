// SPDX-License-Identifier: MIT
// plumbline from C++: judges the outputs of a call, or verifies a kernel, from any program or test.
// The header stands alone and runs the program `plumbline` as a process: what is judged cannot take
// the caller down, and a newer program serves older callers. Installed with the program;
// find_package(plumbline) gives the target plumbline::check. docs/cpp.md has examples.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace plumbline {

// Element types, by the names that manifests and safetensors files have for them.
enum class Type { f64, f32, f16, bf16, e4m3, e5m2, ue8m0, s8, u8, s32, s64 };

inline std::size_t bytes_of(Type type) {
  constexpr std::size_t kBytes[] = {8, 4, 2, 2, 1, 1, 1, 1, 1, 4, 8};
  return kBytes[static_cast<std::size_t>(type)];
}

// A tensor in the memory of the host. `name` is the operation's: "a", "b", "d", "q", "lse".
struct TensorView {
  std::string name;
  Type type = Type::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::vector<std::int64_t> strides = {};  // in elements; empty: row-major, without holes
};

// How a call of the program ended: its exit codes (docs/cli.md).
enum class Outcome {
  conforms = 0,
  broken = 1,
  wrong_input = 2,
  could_not_run = 3,
  nothing_selected = 4,
  mistrusted = 5,
  internal_error = 70,
  interrupted = 130,
};

struct Verdict {
  Outcome outcome = Outcome::internal_error;
  std::string text;  // what the program printed: which element, what is admissible, what fits

  explicit operator bool() const { return outcome == Outcome::conforms; }
};

struct Options {
  // A manifest beside the shipped kernels (--kernel), relative to the working folder.
  std::string manifest = {};
  // More of the command line: {"--allow-mistrusted"}, {"--out", "reports"}.
  std::vector<std::string> arguments = {};
  // The program. Empty: $PLUMBLINE_PROGRAM, else the one that was installed with this header, else
  // that of PATH.
  std::string program = {};
};

namespace detail {

inline std::string program_of(const Options& options) {
  if (!options.program.empty()) return options.program;
  if (const char* named = std::getenv("PLUMBLINE_PROGRAM"); named != nullptr && *named != '\0')
    return named;
#ifdef PLUMBLINE_PROGRAM
  if (::access(PLUMBLINE_PROGRAM, X_OK) == 0) return PLUMBLINE_PROGRAM;
#endif
  return "plumbline";
}

[[noreturn]] inline void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), "plumbline: " + what);
}

inline Outcome outcome_of(int exit_code) {
  switch (exit_code) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 130:
      return static_cast<Outcome>(exit_code);
    default:
      return Outcome::internal_error;
  }
}

// Runs a program without a shell and collects what it prints. It reads nothing.
inline Verdict run(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe");
  // Above 2, where the program's own input and output are.
  const int into = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
  ::close(ends[1]);
  const int nothing = into < 0 ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t child = nothing < 0 ? -1 : ::fork();
  if (child < 0) {
    const int because = errno;
    for (const int end : {ends[0], into, nothing})
      if (end >= 0) ::close(end);
    errno = because;
    fail("no process");
  }
  if (child == 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(into, STDOUT_FILENO);
    ::dup2(into, STDERR_FILENO);
    if (nothing == STDIN_FILENO) ::fcntl(nothing, F_SETFD, 0);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(into);
  ::close(nothing);
  Verdict verdict;
  std::array<char, 4096> part;
  for (ssize_t got; (got = ::read(ends[0], part.data(), part.size())) != 0;) {
    if (got > 0) verdict.text.append(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended != child) {
    verdict.outcome = Outcome::could_not_run;
    verdict.text +=
        "how " + command.front() +
        " ended is not known: SIGCHLD is ignored, or something else waits for children\n";
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    verdict.outcome = Outcome::could_not_run;
    verdict.text += command.front() + " could not be started: name it in $PLUMBLINE_PROGRAM\n";
  } else if (WIFEXITED(status)) {
    verdict.outcome = outcome_of(WEXITSTATUS(status));
  } else {
    verdict.text +=
        command.front() + " was ended by signal " + std::to_string(WTERMSIG(status)) + "\n";
  }
  return verdict;
}

inline std::string json_text(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

inline std::int64_t elements_of(const TensorView& tensor) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || size > kMost || (size > 0 && count > kMost / size))
      throw std::invalid_argument("plumbline: tensor " + tensor.name + " has a size of " +
                                  std::to_string(size));
    count *= size;
  }
  return count;
}

// The elements in row-major order.
inline void write_elements(std::ostream& file, const TensorView& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.data);
  const std::size_t size = bytes_of(tensor.type);
  const std::int64_t count = elements_of(tensor);
  if (tensor.strides.empty()) {
    file.write(bytes, static_cast<std::streamsize>(count) * static_cast<std::streamsize>(size));
    return;
  }
  std::vector<std::int64_t> at(tensor.shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * tensor.strides[d];
    file.write(bytes + offset * static_cast<std::int64_t>(size),
               static_cast<std::streamsize>(size));
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == tensor.shape[d];) at[d] = 0;
  }
}

// A safetensors file: 8 bytes with the length of a JSON header, the header, the data.
inline void write_safetensors(const std::filesystem::path& path, const std::string& call, int sm,
                              const std::vector<TensorView>& tensors) {
  constexpr const char* kTypes[] = {"F64",     "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2",
                                    "F8_E8M0", "I8",  "U8",  "I32",  "I64"};
  std::string header =
      "{\"__metadata__\":{\"case\":" + json_text(call) + ",\"sm\":\"" + std::to_string(sm) + "\"}";
  std::int64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size())
      throw std::invalid_argument("plumbline: tensor " + tensor.name + " has " +
                                  std::to_string(tensor.shape.size()) + " sizes and " +
                                  std::to_string(tensor.strides.size()) + " strides");
    const std::int64_t count = elements_of(tensor);
    if (count > 0 && tensor.data == nullptr)
      throw std::invalid_argument("plumbline: tensor " + tensor.name + " has no data");
    const std::int64_t end = begin + count * static_cast<std::int64_t>(bytes_of(tensor.type));
    header += "," + json_text(tensor.name) + ":{\"dtype\":\"" +
              kTypes[static_cast<std::size_t>(tensor.type)] + "\",\"shape\":[";
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      header += (d == 0 ? "" : ",") + std::to_string(tensor.shape[d]);
    header += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  header += "}";
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = header.size();  // little-endian, as every machine with a GPU
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  for (const TensorView& tensor : tensors) write_elements(file, tensor);
  if (!file.flush()) fail("cannot write " + path.string());
}

// Removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plumbline-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot create a folder like " + name);
    path_ = name;
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::string> command_of(const Options& options, const char* verb) {
  std::vector<std::string> command = {program_of(options), verb};
  if (!options.manifest.empty()) command.insert(command.end(), {"--kernel", options.manifest});
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

}  // namespace detail

// Judges all inputs and outputs of one call by the contract of a kernel. `call` is kernel and
// problem as in reports, "gemm_bf16 m=64 n=64 k=512" (docs/operations.md lists the fields); `sm` is
// the chip that computed the outputs. Throws std::invalid_argument for a view that is not valid,
// and std::system_error where a file or a process cannot be created.
inline Verdict check(const std::string& call, int sm, const std::vector<TensorView>& tensors,
                     const Options& options = {}) {
  const detail::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call.safetensors";
  detail::write_safetensors(file, call, sm, tensors);
  std::vector<std::string> command = detail::command_of(options, "check");
  command.push_back(file.string());
  return detail::run(command);
}

// Verifies a manifest's kernel: its planned cases, on the emulator where there is no GPU. Profiles
// are "quick", "default" and "deep".
inline Verdict verify(const std::string& manifest, const std::string& profile = "quick",
                      Options options = {}) {
  options.manifest = manifest;
  std::vector<std::string> command = detail::command_of(options, "verify");
  command.insert(command.end(), {"--profile", profile});
  return detail::run(command);
}

}  // namespace plumbline
