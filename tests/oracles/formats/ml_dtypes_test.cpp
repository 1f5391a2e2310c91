// SPDX-License-Identifier: MIT
// Our conversions against ml_dtypes (PyPI; the number formats of JAX): this program writes what it
// converts, and ml_dtypes_check.py beside it compares. PLUMBLINE_TEST_PYTHON names the
// interpreter, else python3.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

constexpr FormatId kCompared[] = {FormatId::e2m1, FormatId::e2m3,  FormatId::e3m2, FormatId::e4m3,
                                  FormatId::e5m2, FormatId::ue8m0, FormatId::f16,  FormatId::bf16};
constexpr int kMissing = 77;  // what the script exits with when it cannot import ml_dtypes

// All upper halves of an f32 (every sign, exponent and leading mantissa bit), each followed by
// lower halves that make ties and near-ties, and by a random one: 65536 x 5 floats.
std::vector<std::uint32_t> inputs() {
  Random random(31);
  std::vector<std::uint32_t> floats;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    const auto random_lower = static_cast<std::uint32_t>(random.next() & 0xffff);
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x8000u, 0xffffu, random_lower}) {
      floats.push_back(upper << 16 | lower);
    }
    // f16 cuts at bit 13: its ties have that tail.
    floats.push_back(upper << 16 | (random_lower & 0xe000u) | 0x1000u);
  }
  return floats;
}

template <typename T>
void write_file(const std::filesystem::path& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  ASSERT_TRUE(file.good()) << path;
}

void write_dump(const std::filesystem::path& directory) {
  const std::vector<std::uint32_t> floats = inputs();
  for (const FormatId id : kCompared) {
    const Format& f = format(id);
    std::vector<std::uint32_t> pairs;
    for (const std::uint32_t bits : floats) {
      pairs.push_back(bits);
      pairs.push_back(
          static_cast<std::uint32_t>(encode(f, static_cast<double>(std::bit_cast<float>(bits)))));
    }
    write_file(directory / (std::string(f.name) + ".encode"), pairs);

    std::vector<float> values;
    for (std::uint32_t code = 0; code < 1u << f.code_bits(); ++code) {
      values.push_back(static_cast<float>(to_double(f, code)));
    }
    write_file(directory / (std::string(f.name) + ".decode"), values);
  }
}

TEST(MlDtypes, AgreesOnRoundingAndOnEveryCode) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("plumbline_ml_dtypes_" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  write_dump(directory);

  const char* chosen = std::getenv("PLUMBLINE_TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  const std::string script = PLUMBLINE_SOURCE_DIR "/tests/oracles/formats/ml_dtypes_check.py";
  const std::string command = "'" + python + "' '" + script + "' '" + directory.string() + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr)
    said += buffer.data();
  const int status = pclose(pipe);
  std::filesystem::remove_all(directory);

  ASSERT_TRUE(WIFEXITED(status)) << said;
  const int code = WEXITSTATUS(status);
  if (code == kMissing || code == 127) {
    GTEST_SKIP() << said
                 << "to run this comparison: pip install ml_dtypes numpy (PLUMBLINE_TEST_PYTHON "
                    "names the python)";
  }
  EXPECT_EQ(code, 0) << said;
}

}  // namespace
}  // namespace plumbline
