// SPDX-License-Identifier: MIT
#include "harness/cli/cases.h"

#include "harness/judge/case_runner.h"

#include <algorithm>
#include <filesystem>

namespace plumbline {

Result<std::vector<CaseFile>> named_cases(const std::vector<std::string>& names,
                                          const Registry& registry) {
  namespace fs = std::filesystem;
  std::vector<CaseFile> cases;
  for (const std::string& name : names) {
    std::error_code code;
    if (fs::is_directory(name, code)) {
      std::vector<std::string> paths;
      fs::recursive_directory_iterator entry(name, code);
      for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
        if (entry->path().extension() == ".case") paths.push_back(entry->path().string());
      }
      if (code)
        return Error{ErrorKind::bad_input, "cannot look for cases: " + code.message(), name, ""};
      std::sort(paths.begin(), paths.end());
      for (const std::string& path : paths) {
        Result<CaseFile> file = read_case(path, registry);
        if (!file) return file.error();
        cases.push_back(*std::move(file));
      }
      continue;
    }
    if (name.find(' ') != std::string::npos && !fs::exists(name, code)) {
      Result<Case> parsed = parse_case_line(name, registry, "command line");
      if (!parsed) return parsed.error();
      CaseFile file;
      file.test_case = *std::move(parsed);
      cases.push_back(std::move(file));
      continue;
    }
    Result<CaseFile> file = read_case(name, registry);
    if (!file) return file.error();
    cases.push_back(*std::move(file));
  }
  for (const CaseFile& file : cases) {
    const Status accepted = check_domain(file.test_case);
    if (!accepted) return accepted.error();
  }
  return cases;
}

}  // namespace plumbline
