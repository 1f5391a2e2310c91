// SPDX-License-Identifier: MIT
// The corpus: *.case files, plain text to be committed and replayed before anything else.
// docs/case_format.md is the manual of the format. Hexadecimal bits are authoritative; decimal
// values in comments are for readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"
#include "kernels/registry.h"

namespace plumbline {

// Of a comment, before the text of the case that the file's own was made small from.
inline constexpr std::string_view kShrunkFrom = "shrunk from ";

// What a case file records beside the case itself.
struct CaseFile {
  Case test_case;
  std::vector<std::string>
      comments;  // header lines without '#': where it was found, how it was shrunk
  std::vector<std::pair<std::string, std::string>>
      notes;  // "expect", "got", "bound" lines, kept as text
};

// Errors have file:line:column: truncated files, wrong number of hex digits, unknown kernels,
// fields or tensors.
Result<CaseFile> read_case(const std::string& path, const Registry& registry);
Result<CaseFile> parse_case(std::string_view text, std::string_view file, const Registry& registry);
std::string write_case(const CaseFile& file);

// "gemm_bf16 m=65 n=8 k=33 value=normal seed=0x2a"
Result<Case> parse_case_line(std::string_view line, const Registry& registry,
                             std::string_view where = {});

struct CorpusCases {
  std::vector<CaseFile> files;
  std::vector<Error> unfit;  // of files that are no case of the kernel as its manifest is now
};

// All cases of a kernel in corpus_folder/<kernel>/, by file name. A folder that was committed is
// part of a gate: there the first file that does not fit is an error.
Result<CorpusCases> read_corpus(const std::string& corpus_folder, const Manifest& kernel,
                                const Registry& registry, bool committed);

struct SavedCase {
  std::string path;
  bool is_new = false;  // else it was there already
};

// Writes corpus_folder/<kernel>/<name>.case atomically; an identical case is not written twice.
Result<SavedCase> save_case(const std::string& corpus_folder, const CaseFile& file);

}  // namespace plumbline
