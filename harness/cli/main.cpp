// SPDX-License-Identifier: MIT
// The program: parse, dispatch, exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "harness/cli/arguments.h"
#include "harness/cli/newer_processor.h"
#include "harness/cli/session.h"
#include "harness/cli/verb_table.h"
#include "harness/gpu/gpu_device.h"
#include "harness/launch/interrupt.h"

namespace {

using plumbline::Arguments;
using plumbline::ExitCode;
using plumbline::Terminal;

#ifndef __SANITIZE_ADDRESS__
// OpenBLAS makes threads when it is loaded, which nothing here uses. Where it gets none it raises
// SIGINT, and where it gets no memory for them it asks for it forever. A variable keeps it from
// that, and has to be there before: this runs ahead of the libraries' constructors, and before the
// C library knows its environment, so the program starts again with a longer one.
// Sanitizers are not ready so early.
void restart_without_blas_threads(int, char** argv, char** environment) {
  constexpr std::size_t kMost = 4096;
  constexpr std::string_view kName = "OPENBLAS_NUM_THREADS=";
  static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
  static char* longer[kMost + 2];
  static char program[4096];
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (count == kMost || std::string_view(environment[count]).starts_with(kName)) return;
    longer[count] = environment[count];
  }
  longer[count] = one_thread;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) execve(program, argv, longer);  // returns only where it fails
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)(int, char**, char**) = restart_without_blas_threads;
#endif

// A file that is opened while standard output is closed would get its descriptor, and what the
// program prints would end in that file.
void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (closed) (void)open("/dev/null", O_RDWR);  // takes the lowest that is free: this one
  }
}

ExitCode run(int argc, char** argv) {
  const plumbline::Result<Arguments> arguments = plumbline::parse_arguments(argc, argv);
  if (!arguments) return plumbline::report_error(arguments.error());
  if (arguments->verb.empty()) {
    fmt::print("{}", arguments->help);
    return ExitCode::held;
  }
  plumbline::catch_interrupts();
  Terminal terminal(*arguments);
  for (const plumbline::Verb& verb : plumbline::verb_table()) {
    if (verb.name == arguments->verb) return verb.run(*arguments, terminal);
  }
  return ExitCode::internal;
}

ExitCode run_and_catch(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const plumbline::Undefined& undefined) {
    return plumbline::report_error(undefined.error());
  } catch (const std::bad_alloc&) {
    return plumbline::report_error({plumbline::ErrorKind::out_of_memory,
                                    "more memory is needed than is free", "",
                                    "use smaller inputs, or fewer --jobs"});
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "plumbline: internal error: %s; please report this with the command line\n",
                 error.what());
    return ExitCode::internal;
  }
}

// A gate must not pass on a result that could not be written. The reader of a pipe may close it
// early, though.
ExitCode delivered(ExitCode code) {
  struct stat output{};
  const bool may_leave =
      fstat(STDOUT_FILENO, &output) == 0 && !S_ISREG(output.st_mode) && !S_ISCHR(output.st_mode);
  if (may_leave || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return code;
  const plumbline::Error lost{plumbline::ErrorKind::cannot_run,
                              "the output could not be written: its disk may be full", "",
                              "reports and records are in the folder of the run"};
  const ExitCode cannot_run = plumbline::report_error(lost);
  return code == ExitCode::held ? cannot_run : code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  plumbline::restart_with_faster_blas(argv);
  const int code = static_cast<int>(delivered(run_and_catch(argc, argv)));
  if (plumbline::gpu_is_lost()) {
    // What the driver does at an ordinary exit would wait for a kernel that does not end.
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
