// SPDX-License-Identifier: MIT
// `parameters` of launches, and [struct.<name>], parameters by value as C lays them out: fields in
// order, each at its alignment, or where the manifest says. Structs are flattened here: a parameter
// is a list of values with their offsets. Heavy (toml++): include it in .cpp files only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/manifest/manifest.h"
#include "kernels/manifest/toml_reader.h"

namespace plumbline {

class ParameterReader {
 public:
  ParameterReader(TomlReader& reader, const Manifest& manifest)
      : reader_(reader), manifest_(manifest) {}

  // The list "parameters" of a table.
  std::vector<KernelParameter> parameters(const toml::table& table);

  // After all launches: every struct must be a parameter of one, or part of one.
  void check_structs();

 private:
  // Bytes with values in them.
  struct Block {
    std::int64_t bytes = 0;
    std::int64_t alignment = 1;
    std::vector<KernelValue> values;
  };

  KernelParameter parameter(const TomlReader::Text& text);
  Block field_block(const TomlReader::Text& word, const TomlReader::Text& text);
  Block struct_block(const TomlReader::Text& name);
  Block fields(const toml::table& table);
  void append(Block& block, const TomlReader::Text& text);
  KernelValue value(const ValueType& type, const TomlReader::Text& text);

  TomlReader& reader_;
  const Manifest& manifest_;
  std::vector<std::string> open_;  // structs being read, the outermost first
  std::set<std::string, std::less<>> used_;
};

}  // namespace plumbline
