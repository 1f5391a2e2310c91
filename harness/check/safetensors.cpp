// SPDX-License-Identifier: MIT
#include "harness/check/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "reports/record/parse_json.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

struct TypeName {
  std::string_view name;
  FormatId format;
};

constexpr std::array<TypeName, 11> kTypes = {{{"F64", FormatId::f64},
                                              {"F32", FormatId::f32},
                                              {"F16", FormatId::f16},
                                              {"BF16", FormatId::bf16},
                                              {"F8_E4M3", FormatId::e4m3},
                                              {"F8_E5M2", FormatId::e5m2},
                                              {"F8_E8M0", FormatId::ue8m0},
                                              {"I64", FormatId::s64},
                                              {"I32", FormatId::s32},
                                              {"I8", FormatId::s8},
                                              {"U8", FormatId::u8}}};

constexpr std::uint64_t kLargestHeader = 100'000'000;  // as the format's own readers have it

// A kernel is not what a call of it left behind.
std::string instead_of(const std::string& path) {
  const std::string kind = std::filesystem::path(path).extension();
  if (kind == ".cu" || kind == ".ptx")
    return fmt::format("plumbline init {} drafts a manifest, and verify --kernel runs it", path);
  if (kind == ".toml") return fmt::format("plumbline verify --kernel {} runs a kernel", path);
  return "";
}

Error broken(const std::string& path, std::string what) {
  return {ErrorKind::bad_input, "not a safetensors file: " + std::move(what), path,
          instead_of(path)};
}

std::string type_list() {
  std::string text;
  for (const TypeName& type : kTypes) text += (text.empty() ? "" : ", ") + std::string(type.name);
  return text;
}

// [0, 5, 7] as whole numbers that are not negative.
std::optional<std::vector<std::int64_t>> whole_numbers(const nlohmann::json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const nlohmann::json& entry : json) {
    if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(entry.get<std::int64_t>());
  }
  return numbers;
}

using Entry = SafetensorsFile::Entry;

Result<Entry> read_entry(const std::string& path, const std::string& name,
                         const nlohmann::json& json) {
  const auto bad = [&](std::string what) {
    return broken(path, fmt::format("tensor \"{}\" {}", name, what));
  };
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() ||
      !json.contains("shape") || !json.contains("data_offsets"))
    return bad("lacks dtype, shape or data_offsets");
  const auto type_name = json["dtype"].get<std::string>();
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeName& t) { return t.name == type_name; });
  if (type == kTypes.end()) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("tensor \"{}\" has dtype {}, which no kernel here takes", name, type_name),
        path, "one of " + type_list()};
  }
  const auto shape = whole_numbers(json["shape"]), offsets = whole_numbers(json["data_offsets"]);
  if (!shape) return bad("has a shape that is no list of sizes");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return bad("has data_offsets that are no range");
  std::int64_t elements = 1;
  for (const std::int64_t size : *shape) {
    if (__builtin_mul_overflow(elements, size, &elements))
      return bad("is larger than 63 bits can count");
  }
  Entry entry{name, dense_layout(type->format, *shape), (*offsets)[0], (*offsets)[1]};
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, std::int64_t{format(type->format).storage_bytes()},
                             &bytes) ||
      bytes != entry.end - entry.begin) {
    return bad(fmt::format("has {} bytes of data, its shape and dtype need {}",
                           entry.end - entry.begin, bytes));
  }
  return entry;
}

}  // namespace

const Tensor* NamedTensors::find(std::string_view name) const {
  for (const auto& [own, tensor] : tensors) {
    if (own == name) return &tensor;
  }
  return nullptr;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::file_type type = fs::status(path, code).type();
  std::ifstream file;
  errno = 0;
  if (type == fs::file_type::regular) file.open(path, std::ios::binary | std::ios::ate);
  if (!file.is_open()) {
    const std::string reason = type == fs::file_type::not_found   ? "there is no such file"
                               : type == fs::file_type::directory ? "it is a folder"
                               : code                             ? code.message()
                               : errno != 0 ? std::generic_category().message(errno)
                                            : "it is no plain file";
    return Error{ErrorKind::bad_input, "cannot read it as a file of tensors: " + reason, path, ""};
  }
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  std::array<unsigned char, 8> prefix{};
  if (size < prefix.size() || !file.read(reinterpret_cast<char*>(prefix.data()), prefix.size()))
    return broken(path, "it is shorter than 8 bytes");
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;) length = length << 8 | prefix[i];
  if (length > kLargestHeader || length > size - prefix.size())
    return broken(path,
                  fmt::format("its first 8 bytes announce a header of {} bytes, the file has {}",
                              length, size));
  std::string header(length, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(length)))
    return broken(path, "it cannot be read to its end");
  const std::optional<nlohmann::json> parsed = parse_json(header);
  if (!parsed || !parsed->is_object())
    return broken(path, "its header is no JSON object, or names a tensor twice");
  const nlohmann::json& json = *parsed;

  SafetensorsFile contents;
  contents.path_ = path;
  contents.data_ = static_cast<std::int64_t>(prefix.size() + length);
  std::vector<Entry>& entries = contents.entries_;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return broken(path, "__metadata__ is no JSON object");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string())
          return broken(path, fmt::format("__metadata__ \"{}\" is no string", key));
        contents.metadata_[key] = text.get<std::string>();
      }
      continue;
    }
    Result<Entry> entry = read_entry(path, name, value);
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  const auto data = static_cast<std::int64_t>(size - prefix.size() - length);
  std::int64_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != next)
      return broken(path,
                    fmt::format("the data of \"{}\" begins at {}, the tensors before it end at {}",
                                entry.name, entry.begin, next));
    if (entry.end > data)
      return broken(
          path,
          fmt::format(
              "the data of \"{}\" ends at {}, the file has {} bytes of data; it may be cut off",
              entry.name, entry.end, data));
    next = entry.end;
  }
  if (next != data)
    return broken(path, fmt::format("{} bytes after the last tensor belong to none", data - next));
  return contents;
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Result<Tensor> SafetensorsFile::read(const Entry& entry) const {
  std::ifstream file(path_, std::ios::binary);
  Tensor tensor(entry.layout);
  file.seekg(data_ + entry.begin);
  if (!file.read(reinterpret_cast<char*>(tensor.storage.data()), entry.end - entry.begin))
    return broken(path_, "it cannot be read to its end");
  return tensor;
}

Result<NamedTensors> read_safetensors(const std::string& path) {
  const Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file) return file.error();
  NamedTensors contents;
  contents.metadata = file->metadata();
  for (const SafetensorsFile::Entry& entry : file->entries()) {
    Result<Tensor> tensor = file->read(entry);
    if (!tensor) return tensor.error();
    contents.tensors.emplace_back(entry.name, *std::move(tensor));
  }
  return contents;
}

Status write_safetensors(const std::string& path, const NamedTensors& contents) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::int64_t next = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(),
                     [&, id = tensor.layout.format](const TypeName& t) { return t.format == id; });
    if (type == kTypes.end()) {
      return Error{ErrorKind::bad_input,
                   fmt::format("safetensors files have no {} for tensor \"{}\"",
                               format(tensor.layout.format).name, name),
                   path, ""};
    }
    const std::int64_t bytes = tensor.layout.count() * format(tensor.layout.format).storage_bytes();
    header[name] = {{"dtype", type->name},
                    {"shape", tensor.layout.shape},
                    {"data_offsets", {next, next + bytes}}};
    next += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin aligned
  std::ofstream file(path, std::ios::binary);
  for (std::size_t i = 0; i < 8; ++i) file.put(static_cast<char>(text.size() >> (8 * i) & 0xff));
  file << text;
  for (const auto& [name, tensor] : contents.tensors) {
    Tensor dense(dense_layout(tensor.layout.format, tensor.layout.shape));
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i) dense.set_bits(i, tensor.bits(i));
    file.write(reinterpret_cast<const char*>(dense.storage.data()),
               static_cast<std::streamsize>(dense.storage.size()));
  }
  if (!file.flush())
    return Error{ErrorKind::bad_input, std::string("cannot write: ") + std::strerror(errno), path,
                 ""};
  return {};
}

}  // namespace plumbline
