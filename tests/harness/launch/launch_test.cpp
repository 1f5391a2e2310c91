// SPDX-License-Identifier: MIT
// A case's launches on a device that only writes down what it is asked: order, launches left out,
// launches that stop, and what memory holds when the first one starts.
#include "harness/launch/launch.h"
#include "harness/launch/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kThreeLaunches = R"(
computes = "gemm"
summary = "three launches"
ptx = "three.ptx"
targets = [80]
workspace = 'splits * m * n'
[problem]
out = ["f32"]
free = ["splits", "ldd"]
[[launch]]
entry = "clear"
parameters = ["ptr d", "s32 m"]
grid = ['ceil_div(m * n, 2)']
block = [32]
[[launch]]
entry = "sum"
parameters = ["ptr a", "ptr b", "ptr workspace", "ptr bias"]
grid = ['splits', 'm']
block = [64]
shared = '16 * splits'
[[launch]]
entry = "join"
parameters = ["ptr workspace", "ptr d"]
grid = ['n']
block = [128]
when = 'splits > 1'
[formats]
a = "bf16"
b = "bf16"
c = "{out}"
d = "{out}"
[contract]
unit = "mma.sync"
schedule = "split_k"
parts = "splits"
join = "f32 ordered"
epilogue = []
)";

constexpr std::string_view kMaps = R"(
computes = "gemm"
summary = "tensor maps"
ptx = "maps.ptx"
targets = [90]
entry = "mapped"
parameters = ["tensor_map a", "s32 m", "tensor_map bias", "tensor_map flat"]
workspace = '2 * m * n'
[problem]
layout = ["nn", "tn"]
free = ["lda", "offset"]
[launch]
grid = ['m']
block = [128]
[tensor_map.a]
dims = ['layout == "tn" ? m : k', 'layout == "tn" ? k : m']
strides = ["ld_a"]
box = [64, 'm']
swizzle = "128B"
[tensor_map.bias]
dims = ["n"]
box = [8]
[tensor_map.flat]
tensor = "workspace"
dims = ["n", "m", 2]
strides = ["n", 'm * n']
box = [4, 2, 1]
fill = "nan"
[formats]
a = "bf16"
b = "bf16"
c = "bf16"
d = "bf16"
[contract]
unit = "mma.sync"
schedule = "sequential"
epilogue = []
)";

constexpr std::string_view kStruct = R"(
computes = "gemm"
summary = "a struct"
ptx = "struct.ptx"
targets = [90]
entry = "packed"
parameters = ["struct params"]
[struct.params]
fields = ["ptr a", "ptr bias", "u8 m", "s16 -m", "f32 alpha / 3", "f64 alpha / 3", "u64 n",
          "tensor_map a", "u32 k"]
[problem]
layout = ["nt"]
free = ["alpha"]
[launch]
grid = [1]
block = [128]
[tensor_map.a]
dims = ["k", "m"]
strides = ["ld_a"]
box = [8, 8]
[formats]
a = "bf16"
b = "bf16"
c = "bf16"
d = "bf16"
[contract]
unit = "mma.sync"
schedule = "sequential"
epilogue = ["alpha"]
)";

// Every entry takes its parameters one after the other.
class OneOfEach : public Module {
 public:
  Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const override {
    if (entry == "clear") return std::vector<ParameterSlot>{{0, 8}, {8, 4}};
    if (entry == "packed") return std::vector<ParameterSlot>{{0, struct_bytes}};
    if (entry == "mapped")
      return std::vector<ParameterSlot>{{0, map_bytes}, {128, 4}, {192, 128}, {320, 128}};
    const std::int64_t count = entry == "sum" ? 4 : 2;
    std::vector<ParameterSlot> slots;
    for (std::int64_t i = 0; i < count; ++i) slots.push_back({8 * i, 8});
    return slots;
  }

  std::int64_t map_bytes = 128;
  std::int64_t struct_bytes = 256;
};

// Keeps memory by address, and what was launched.
class Recorder : public Device {
 public:
  struct Memory {
    std::string label;
    std::vector<std::byte> bytes;
    bool written = false;
  };

  std::map<DeviceAddress, Memory> memory;
  std::vector<LaunchRequest> launches;
  std::vector<TensorMap> maps;
  bool can_encode = true;
  bool tells_written = false;  // and then that all was
  std::function<Result<LaunchOutcome>(const LaunchRequest&)> on_launch = [](const LaunchRequest&) {
    return Result<LaunchOutcome>(LaunchOutcome());
  };

  std::string name() const override { return "recorder"; }

  int sm() const override { return 80; }

  bool is_gpu() const override { return false; }

  Result<std::unique_ptr<Module>> load(std::string_view, std::string_view,
                                       const EntryFilter&) override {
    return std::unique_ptr<Module>(std::make_unique<OneOfEach>());
  }

  Result<DeviceAddress> allocate(std::int64_t bytes, std::string_view label) override {
    const DeviceAddress address = 0x1000 * (memory.size() + 1);
    memory[address] = {std::string(label), std::vector<std::byte>(static_cast<std::size_t>(bytes)),
                       false};
    return address;
  }

  void release_all() override { memory.clear(); }

  Status write(DeviceAddress to, std::span<const std::byte> bytes) override {
    return store(to, bytes, true);
  }

  Status poison(DeviceAddress to, std::span<const std::byte> bytes) override {
    return store(to, bytes, false);
  }

  Status read(DeviceAddress from, std::span<std::byte> bytes) override {
    std::copy_n(memory.at(from).bytes.begin(), bytes.size(), bytes.begin());
    return {};
  }

  bool read_written(DeviceAddress, std::span<std::byte> written) const override {
    std::ranges::fill(written, std::byte{1});
    return tells_written;
  }

  // Numbers them in the order of the calls.
  Result<EncodedTensorMap> encode(const TensorMap& map) override {
    maps.push_back(map);
    if (!can_encode) return Error{ErrorKind::cannot_run, "out of maps", "", ""};
    EncodedTensorMap code{};
    code.fill(static_cast<std::byte>(maps.size()));
    return code;
  }

  Result<LaunchOutcome> launch(const Module&, const LaunchRequest& request) override {
    launches.push_back(request);
    return on_launch(request);
  }

  Memory& labeled(std::string_view label) {
    for (auto& [address, block] : memory) {
      if (block.label == label) return block;
    }
    ADD_FAILURE() << "nothing is labeled " << label;
    return memory.begin()->second;
  }

  DeviceAddress address_of(std::string_view label) const {
    for (const auto& [address, block] : memory) {
      if (block.label == label) return address;
    }
    return 0;
  }

 private:
  Status store(DeviceAddress to, std::span<const std::byte> bytes, bool written) {
    Memory& block = memory.at(to);
    EXPECT_EQ(bytes.size(), block.bytes.size()) << block.label;
    block.bytes.assign(bytes.begin(), bytes.end());
    block.written = written;
    return {};
  }
};

template <typename T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The manifest of three launches, changed in one place.
std::string with(std::string_view before, std::string_view after) {
  std::string text(kThreeLaunches);
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

struct Launches : testing::Test {
  Manifest kernel = *parse_manifest(kThreeLaunches, "three.toml");
  Case test_case;
  CaseTensors tensors;
  Recorder device;
  OneOfEach module;

  Result<LaunchResult> launch(std::string_view fields, std::uint64_t order = 0) {
    test_case.kernel = &kernel;
    test_case.problem = *parse_problem(kernel.schema(), fields);
    tensors = *materialize(test_case);
    return launch_case(test_case, tensors, device, module, {.cta_order = order});
  }

  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const LaunchRequest& request : device.launches) names.push_back(request.entry);
    return names;
  }

  // The device's outcome for one entry; all others are well behaved.
  void when(const std::string& entry, const std::function<void(LaunchOutcome&)>& change) {
    device.on_launch = [entry, change](const LaunchRequest& request) {
      LaunchOutcome outcome;
      outcome.elapsed_ms = 1;
      if (request.entry == entry) change(outcome);
      return Result<LaunchOutcome>(std::move(outcome));
    };
  }
};

TEST_F(Launches, RunInOrderWithTheirOwnShapes) {
  ASSERT_TRUE(launch("m=3 n=5 k=4 splits=2", 7).ok());
  ASSERT_THAT(entries(), ElementsAre("clear", "sum", "join"));
  EXPECT_THAT(device.launches[0].grid, ElementsAre(8, 1, 1));
  EXPECT_THAT(device.launches[0].block, ElementsAre(32, 1, 1));
  EXPECT_THAT(device.launches[1].grid, ElementsAre(2, 3, 1));
  EXPECT_EQ(device.launches[1].dynamic_shared_bytes, 32);
  EXPECT_THAT(device.launches[2].grid, ElementsAre(5, 1, 1));
  for (const LaunchRequest& request : device.launches)
    EXPECT_EQ(request.cta_order, 7u) << request.entry;
}

TEST_F(Launches, OfNothingAtAllAreAnErrorOfTheManifestWhereAnOutputHasElements) {
  kernel.launches.erase(kernel.launches.begin(), kernel.launches.begin() + 2);  // leaves "join"
  EXPECT_TRUE(launch("m=3 n=5 k=4 splits=2").ok());
  EXPECT_TRUE(launch("m=3 n=0 k=4 splits=2").ok());
  const std::string none = launch("m=3 n=5 k=4 splits=1").error().text();
  EXPECT_THAT(none, HasSubstr("three.toml:26:9: `when` is 0 for "));
  EXPECT_THAT(none, HasSubstr(": nothing is launched, and d has 15 elements"));
  kernel = *parse_manifest(with("grid = ['n']", "grid = ['n / 8', 0]"), "three.toml");
  kernel.launches.erase(kernel.launches.begin(), kernel.launches.begin() + 2);
  EXPECT_THAT(launch("m=3 n=5 k=4 splits=2").error().text(),
              HasSubstr("three.toml:24:10: `grid` is 0 for"));
}

TEST_F(Launches, NeedAThreadAndNoNegativeGrid) {
  kernel = *parse_manifest(with("block = [64]", "block = ['n / 8']"), "three.toml");
  EXPECT_THAT(launch("m=3 n=5 k=4").error().text(),
              HasSubstr("three.toml:19:11: `block` is 0 for"));
  kernel = *parse_manifest(with("grid = ['n']", "grid = 'n - 8'"), "three.toml");
  EXPECT_THAT(launch("m=3 n=5 k=4 splits=2").error().text(),
              HasSubstr("three.toml:24:9: `grid` is -3 for"));
}

// What a caller sets to 0: its padding is as that of other outputs.
TEST_F(Launches, SetOutputsToZeroWhereTheManifestSaysSo) {
  const Result<Manifest> zeroed =
      parse_manifest(with("workspace =", "zeroed = [\"d\"]\nworkspace ="), "three.toml");
  ASSERT_TRUE(zeroed) << zeroed.error().text();
  kernel = *zeroed;
  bool is_zero = false;
  when("join", [&](LaunchOutcome&) {
    const std::vector<std::byte>& memory = device.labeled("d").bytes;
    for (const std::size_t element : {0u, 4u, 8u, 20u})  // of rows of 5 that lie 8 apart
      EXPECT_EQ(memory[4 * element], std::byte{0}) << element;
    EXPECT_NE(memory[4 * 5], std::byte{0}) << "between the rows";
    is_zero = true;
  });
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2 ldd=8");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(is_zero);
  EXPECT_EQ(result->unwritten, 0);
  EXPECT_THAT(result->findings, IsEmpty());
}

// d lies where c does: it holds c before each launch, and no change of c is a finding.
TEST_F(Launches, WriteOverAnInputWhereTheManifestSaysSo) {
  std::string text = with("workspace =", "in_place = {d = \"c\"}\nworkspace =");
  for (const auto& [before, after] :
       {std::pair{"\"splits\", \"ldd\"", "\"splits\", \"ldd\", \"beta\""},
        std::pair{"epilogue = []", "epilogue = [\"beta_c fma\"]"},
        std::pair{"\"ptr workspace\", \"ptr d\"", "\"ptr c\", \"ptr d\""}})
    text.replace(text.find(before), std::string_view(before).size(), after);
  const Result<Manifest> in_place = parse_manifest(text, "three.toml");
  ASSERT_TRUE(in_place) << in_place.error().text();
  kernel = *in_place;
  when("join", [&](LaunchOutcome& outcome) {
    std::vector<std::byte>& memory = device.labeled("c").bytes;
    EXPECT_EQ(memory, tensors.find("c")->storage);
    memory[0] ^= std::byte{1};
    outcome.completed = true;
  });
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2 ldd=8 beta=1");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(result->findings, IsEmpty());
  EXPECT_EQ(device.address_of("d"), 0u);
  const std::vector<std::byte>& parameters = device.launches[2].parameters;
  EXPECT_EQ(at<DeviceAddress>(parameters, 0), device.address_of("c"));
  EXPECT_EQ(at<DeviceAddress>(parameters, 8), device.address_of("c"));
  EXPECT_EQ(tensors.find("c")->layout.strides, tensors.find("d")->layout.strides);
  EXPECT_EQ(tensors.find("d")->storage[0], tensors.find("c")->storage[0] ^ std::byte{1});

  // Between the rows nothing may be written, as ever; without C the output has its own memory.
  when("join", [&](LaunchOutcome&) { device.labeled("c").bytes[4 * 5] ^= std::byte{1}; });
  const Result<LaunchResult> padding = launch("m=3 n=5 k=4 splits=2 ldd=8 beta=1");
  ASSERT_EQ(padding->findings.size(), 1u);
  EXPECT_THAT(padding->findings[0].message, HasSubstr("padding between its rows"));
  when("join", [](LaunchOutcome&) {});
  ASSERT_TRUE(launch("m=3 n=5 k=4 splits=2 ldd=8"));
  EXPECT_FALSE(device.labeled("d").written);
}

TEST_F(Launches, SeeTheSameTensors) {
  ASSERT_TRUE(launch("m=3 n=5 k=4 splits=2").ok());
  const DeviceAddress workspace = device.address_of("workspace"), d = device.address_of("d");
  const auto pointer = [&](std::size_t i, std::size_t slot) {
    return at<DeviceAddress>(device.launches[i].parameters, 8 * slot);
  };
  EXPECT_EQ(pointer(0, 0), d);
  EXPECT_EQ(at<std::int32_t>(device.launches[0].parameters, 8), 3);
  EXPECT_EQ(pointer(1, 2), workspace);
  EXPECT_EQ(pointer(1, 3), 0u) << "a tensor the problem lacks is null";
  EXPECT_EQ(pointer(2, 0), workspace);
  EXPECT_EQ(pointer(2, 1), d);
}

TEST_F(Launches, RunAgainOnOneWorkerWhereSeveralLeftARaceUndecided) {
  device.on_launch = [](const LaunchRequest& request) {
    LaunchOutcome outcome;
    outcome.undecided = request.entry == "sum" && !request.one_worker;
    if (outcome.undecided) outcome.findings.emplace_back().kind = FindingKind::race;
    return Result<LaunchOutcome>(std::move(outcome));
  };
  const auto result = launch("m=3 n=5 k=4 splits=2", 7);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(entries(), ElementsAre("clear", "sum", "join", "clear", "sum", "join"));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(device.launches[i].one_worker, i >= 3);
    EXPECT_EQ(device.launches[i].cta_order, 7u);
  }
  for (const Finding& finding : result->findings) EXPECT_NE(finding.kind, FindingKind::race);
}

TEST_F(Launches, AreLeftOutWhenTheirConditionIsZero) {
  ASSERT_TRUE(launch("m=3 n=5 k=4 splits=1").ok());
  EXPECT_THAT(entries(), ElementsAre("clear", "sum"));
}

TEST_F(Launches, AreLeftOutWhenTheirGridIsEmpty) {
  const Result<LaunchResult> result = launch("m=0 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_THAT(entries(), ElementsAre("join")) << "5 columns of nothing";
  EXPECT_TRUE(result->completed);
  EXPECT_EQ(result->unwritten, 0);
}

TEST_F(Launches, StopAtOneThatDoesNotComplete) {
  when("clear", [](LaunchOutcome& outcome) {
    outcome.completed = false;
    outcome.findings.emplace_back().message = "wrote outside";
  });
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(entries(), ElementsAre("clear"));
  EXPECT_FALSE(result->completed);
  ASSERT_EQ(result->findings.size(), 1u);
  EXPECT_EQ(result->findings[0].message, "wrote outside");
  EXPECT_EQ(result->unwritten, 0) << "outputs of a stopped kernel mean nothing";
}

TEST_F(Launches, GoOnAfterAFindingThatStopsNothing) {
  when("sum", [](LaunchOutcome& outcome) {
    outcome.communicates = true;
    outcome.findings.emplace_back().message = "a race";
  });
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_TRUE(result->completed);
  EXPECT_TRUE(result->communicates) << "one of them does";
  EXPECT_EQ(result->elapsed_ms, 3);
  EXPECT_EQ(result->findings.size(), 1u);
}

TEST_F(Launches, FindingsThatTheManifestKnowsAreLeftOut) {
  kernel.known.push_back({"race: of two", "both write the same"});
  const auto three = [](LaunchOutcome& outcome) {
    for (const char* message : {"of two", "of three", "of two again"}) {
      Finding& finding = outcome.findings.emplace_back();
      finding.kind = FindingKind::race;
      finding.message = message;
    }
  };
  when("sum", three);
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->findings.size(), 1u);
  EXPECT_EQ(result->findings[0].message, "of three");
  EXPECT_THAT(result->known, ElementsAre("race: of two"));
  // Outputs of a stopped kernel mean nothing, for every reason to stop it.
  when("sum", [&](LaunchOutcome& outcome) {
    three(outcome);
    outcome.completed = false;
  });
  EXPECT_EQ(launch("m=3 n=5 k=4 splits=2")->findings.size(), 3u);
}

TEST_F(Launches, ThatCannotRunAreErrors) {
  device.on_launch = [](const LaunchRequest& request) {
    return Result<LaunchOutcome>(
        Error{ErrorKind::cannot_run, request.entry + " has no image", "", ""});
  };
  const Result<LaunchResult> result = launch("m=3 n=5 k=4");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().text(), HasSubstr("clear has no image"));
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Launches, FindOutputsAndWorkspacePoisoned) {
  const std::uint64_t nan = poison_code(format(FormatId::f32));
  bool seen = false;
  device.on_launch = [&](const LaunchRequest& request) {
    if (request.entry != "clear") return Result<LaunchOutcome>(LaunchOutcome());
    seen = true;
    EXPECT_TRUE(device.labeled("a").written);
    for (const char* label : {"d", "workspace"}) {
      const Recorder::Memory& memory = device.labeled(label);
      EXPECT_FALSE(memory.written) << label;
      EXPECT_EQ(memory.bytes.size(), label == std::string("d") ? 60u : 120u);
      for (std::size_t offset = 0; offset < memory.bytes.size(); offset += 4) {
        EXPECT_EQ(at<std::uint32_t>(memory.bytes, offset), nan) << label;
      }
    }
    return Result<LaunchOutcome>(LaunchOutcome());
  };
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(seen);
  EXPECT_EQ(result->unwritten, 15) << "nothing wrote d; the workspace need not be written";
  ASSERT_EQ(result->unwritten_of.size(), 1u);
  EXPECT_EQ(result->unwritten_of[0].output, "d");
  EXPECT_EQ(result->unwritten_of[0].first, 0);
}

TEST_F(Launches, TellWhichElementsNothingWrote) {
  device.on_launch = [&](const LaunchRequest&) {
    std::vector<std::byte>& bytes = device.labeled("d").bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t element = i / 4;
      if (element != 7 && element != 14) bytes[i] = std::byte{0x40};
    }
    return Result<LaunchOutcome>(LaunchOutcome());
  };
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->unwritten_of.size(), 1u);
  EXPECT_EQ(result->unwritten_of[0].first, 7);
  EXPECT_EQ(result->unwritten_of[0].count, 2);
}

// A NaN of a kernel may be the one that outputs are filled with before.
TEST_F(Launches, WhatADeviceSawWrittenIsWritten) {
  device.tells_written = true;
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->unwritten, 0);
}

TEST_F(Launches, ReadBackWhatTheLastOneLeft) {
  device.on_launch = [&](const LaunchRequest& request) {
    for (std::byte& byte : device.labeled("d").bytes)
      byte = request.entry == "join" ? std::byte{0x40} : std::byte{0x11};
    for (std::byte& byte : device.labeled("workspace").bytes) byte = std::byte{0x22};
    return Result<LaunchOutcome>(LaunchOutcome());
  };
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 splits=2");
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->findings, IsEmpty());
  EXPECT_EQ(result->unwritten, 0);
  EXPECT_EQ(tensors.find("d")->bits(14), 0x40404040u);
}

TEST_F(Launches, MustNotChangeInputsOrPadding) {
  device.on_launch = [&](const LaunchRequest& request) {
    if (request.entry == "sum") device.labeled("b").bytes[0] ^= std::byte{1};
    for (std::byte& byte : device.labeled("d").bytes) byte = std::byte{0x40};
    return Result<LaunchOutcome>(LaunchOutcome());
  };
  const Result<LaunchResult> result = launch("m=3 n=5 k=4 ldd=7");
  ASSERT_TRUE(result.ok());
  std::vector<std::string> messages;
  for (const Finding& finding : result->findings) messages.push_back(finding.message);
  EXPECT_THAT(messages, ElementsAre("input b was changed by the kernel",
                                    HasSubstr("storage element 5 of output d is padding")));
}

struct Structs : Launches {
  Structs() { kernel = *parse_manifest(kStruct, "struct.toml"); }
};

TEST_F(Structs, HoldTheirFieldsWhereCPutsThem) {
  const Result<LaunchResult> result = launch("m=3 n=4 k=8 alpha=2");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const std::vector<std::byte>& block = device.launches[0].parameters;
  ASSERT_EQ(block.size(), 256u);
  EXPECT_EQ(at<DeviceAddress>(block, 0), device.address_of("a"));
  EXPECT_EQ(at<DeviceAddress>(block, 8), 0u) << "this problem has no bias";
  EXPECT_EQ(at<std::uint8_t>(block, 16), 3);
  EXPECT_EQ(at<std::int16_t>(block, 18), -3);
  EXPECT_EQ(at<float>(block, 20), static_cast<float>(2.0 / 3));
  EXPECT_EQ(at<double>(block, 24), 2.0 / 3);
  EXPECT_EQ(at<std::uint64_t>(block, 32), 4u);
  for (std::size_t i = 64; i < 192; ++i) EXPECT_EQ(block[i], std::byte{1}) << i;
  EXPECT_EQ(at<std::uint32_t>(block, 192), 8u);
  for (const std::size_t gap : {17, 40, 63, 196, 255}) EXPECT_EQ(block[gap], std::byte{0}) << gap;
}

TEST_F(Structs, OfAnotherSizeThanTheKernelsAreErrors) {
  module.struct_bytes = 248;
  EXPECT_THAT(launch("m=3 n=4 k=8").error().text(),
              HasSubstr("parameter 1 (struct params) is 248 bytes wide in entry packed, 256 in the "
                        "manifest"));
}

TEST_F(Structs, TakeOnlyIntegersThatFit) {
  EXPECT_TRUE(launch("m=255 n=4 k=8").ok());
  EXPECT_THAT(launch("m=256 n=4 k=8").error().text(),
              HasSubstr("struct.toml: parameter m = 256 does not fit u8"));
}

struct TensorMaps : Launches {
  TensorMaps() { kernel = *parse_manifest(kMaps, "maps.toml"); }

  std::string error(std::string_view fields) {
    const Result<LaunchResult> result = launch(fields);
    EXPECT_TRUE(device.launches.empty());
    return result ? "launched" : result.error().text();
  }

  // The 128 bytes at a place of the parameter block, all of which have to be the same.
  int map_at(std::size_t offset) const {
    const auto begin = device.launches[0].parameters.begin() + static_cast<std::ptrdiff_t>(offset);
    EXPECT_EQ(std::count(begin, begin + 128, *begin), 128) << offset;
    return static_cast<int>(*begin);
  }
};

TEST_F(TensorMaps, AreWhatTheManifestSaysOfTheProblem) {
  const Result<LaunchResult> result = launch("m=3 n=4 k=5 lda=8 offset=8");
  ASSERT_TRUE(result.ok()) << result.error().text();
  ASSERT_EQ(device.maps.size(), 2u);
  const TensorMap& a = device.maps[0];
  EXPECT_EQ(a.format, FormatId::bf16);
  EXPECT_EQ(a.address, device.address_of("a") + 16) << "of the first element";
  EXPECT_EQ(a.rank, 2u);
  EXPECT_THAT(a.dims, ElementsAre(5, 3, 0, 0, 0));
  EXPECT_EQ(a.strides[1], 16);
  EXPECT_THAT(a.box, ElementsAre(64, 3, 0, 0, 0));
  EXPECT_EQ(a.swizzle, TensorSwizzle::bytes_128);
  EXPECT_FALSE(a.fill_nan);
  const TensorMap& flat = device.maps[1];
  EXPECT_EQ(flat.format, FormatId::f32);
  EXPECT_EQ(flat.address, device.address_of("workspace"));
  EXPECT_THAT(flat.dims, ElementsAre(4, 3, 2, 0, 0));
  EXPECT_EQ(flat.strides[1], 16);
  EXPECT_EQ(flat.strides[2], 48);
  EXPECT_EQ(flat.swizzle, TensorSwizzle::none);
  EXPECT_TRUE(flat.fill_nan);
}

TEST_F(TensorMaps, FollowTheLayout) {
  ASSERT_TRUE(launch("m=3 n=4 k=5 lda=8 layout=tn").ok());
  EXPECT_THAT(device.maps[0].dims, ElementsAre(3, 5, 0, 0, 0));
}

TEST_F(TensorMaps, LieAtTheirParametersAndAreZeroWithoutATensor) {
  ASSERT_TRUE(launch("m=3 n=4 k=5 lda=8").ok());
  EXPECT_EQ(device.launches[0].parameters.size(), 448u);
  EXPECT_EQ(map_at(0), 1);
  EXPECT_EQ(at<std::int32_t>(device.launches[0].parameters, 128), 3);
  EXPECT_EQ(map_at(192), 0) << "this problem has no bias";
  EXPECT_EQ(map_at(320), 2);
}

TEST_F(TensorMaps, OfNumbersNoChipTakesAreErrors) {
  EXPECT_EQ(error("m=3 n=4 k=5"),
            "maps.toml: tensor map a of m=3 n=4 k=5: stride of dimension 1 is 10 bytes; it has to "
            "be a multiple of 16 and below 2^40, and not negative (a [[domain]] rule should "
            "exclude such problems)");
  EXPECT_TRUE(device.maps.empty()) << "the device is not asked";
  EXPECT_THAT(error("m=300 n=4 k=8"), HasSubstr("box of dimension 1 is 300"));
}

TEST_F(TensorMaps, WithoutAnyElementAreErrorsOfLaunchesThatRun) {
  EXPECT_THAT(error("m=3 n=4 k=0 lda=8"), HasSubstr("size of dimension 0 is 0"));
  EXPECT_TRUE(launch("m=0 n=4 k=8").ok()) << "the grid is empty";
  EXPECT_TRUE(device.launches.empty());
}

TEST_F(TensorMaps, OfStridesBeyondAllMemoryAreErrors) {
  Manifest& changed = kernel;
  changed.tensor_maps.at("a").strides = {
      *Expression::parse("9223372036854775807 - m", changed.schema(), "maps.toml:1:1")};
  EXPECT_THAT(error("m=3 n=4 k=5"),
              HasSubstr("stride of dimension 1 is 9223372036854775804 elements, more than memory"));
}

TEST_F(TensorMaps, ThatTheDeviceCannotMakeAreErrorsThatNameThem) {
  device.can_encode = false;
  EXPECT_EQ(error("m=3 n=4 k=5 lda=8"), "maps.toml: tensor map a: out of maps");
}

TEST_F(TensorMaps, AreAsWideAsTheEntrySays) {
  module.map_bytes = 8;
  EXPECT_THAT(error("m=3 n=4 k=5 lda=8"), HasSubstr("parameter 1 (tensor_map a) is 8 bytes wide"));
}

// Two entries begin with an instruction 0 each, and so do those for two chips.
TEST(ReachedCodes, TellPlacesOfThePtxAndChipsApart) {
  LaunchResult first, second;
  first.executions = {{{.ptx_line = 12, .executions = 3}}};
  second.executions = {{{.ptx_line = 90, .executions = 3}}};
  EXPECT_EQ(reached_codes(first, 80), reached_codes(first, 80));
  EXPECT_NE(reached_codes(first, 80), reached_codes(second, 80));
  EXPECT_NE(reached_codes(first, 80), reached_codes(first, 90));
  second.executions = {{{.ptx_line = 12, .executions = 300}}};
  EXPECT_NE(reached_codes(first, 80), reached_codes(second, 80)) << "far more often";
}

}  // namespace
}  // namespace plumbline
