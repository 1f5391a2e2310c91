// SPDX-License-Identifier: MIT
#include "tests/kernels/mutants.h"
#include "tests/folders.h"

#include <set>

#include "kernels/registry.h"

namespace plumbline {
namespace {

// A fault that disappears would not be missed by anything else.
TEST(Mutants, NoneIsLost) {
  const std::vector<std::string> expected = {

      "B01",  "B01f", "B01s", "B03",  "B03f", "B03k", "B03x", "B04",  "B05",  "B05t", "B06",
      "B06f", "B07",  "B07m", "B08",  "B08q", "B10",  "B10k", "B11",  "B13",  "B16",  "B16b",
      "B16o", "B18",  "B19",  "B20",  "B21",  "B22",  "B23",  "C01",  "C01a", "C02",  "C03",
      "C04",  "C04n", "C04o", "C06",  "C07",  "C07n", "C08",  "C08q", "C10",  "F01",  "F01t",
      "F02",  "F02f", "F03",  "F03r", "F03z", "F04",  "F04e", "F04i", "F04s", "F05",  "F06",
      "F06m", "F07",  "F07l", "F08",  "F08m", "F08v", "F10",  "F11",  "F11b", "F12",  "F14",
      "F14f", "F15",  "F15k", "F15l", "F15s", "F15v", "F15x", "F16",  "F17",  "F19",  "F19s",
      "F19u", "F20",  "F20b", "F20e", "F20l", "F20s", "F20z", "F22",  "F22k", "F22p", "F22q",
      "F22r", "F22v", "F22w", "F22x", "F22y", "F22z", "F23",  "F24",  "F25",  "F26",  "G01",
      "G01m", "G02",  "G02g", "G03",  "G03a", "G03b", "G04",  "G05",  "G05k", "G06",  "G07",
      "G07a", "G07b", "G07c", "G07r", "G07s", "G08",  "G09",  "G10",  "G10u", "G11",  "G13",
      "G13k", "G13t", "G14",  "G14x", "G17",  "G19",  "G19s", "G19w", "G21",  "G22",  "G22b",
      "H01",  "H02",  "H03",  "H04",  "H04x", "H05",  "H06",  "H07",  "H08",  "H09",  "H10",
      "H11",  "H12",  "H13",  "H14",  "H15",  "H16",  "H17",  "H18",  "H20",  "H21",  "H22",
      "H23",  "H24",  "H25",  "H26",  "H27",  "L01",  "L02",  "L03",  "L04",  "L05",  "M01",
      "M01b", "M02",  "M03",  "M04",  "M05",  "M06",  "M07",  "M07s", "M08",  "M09",  "M10",
      "N01",  "N02",  "N03",  "N04",  "N05",  "N06",  "N07",  "N08",  "N09",  "N10",  "N11",
      "P01",  "Q01",  "R01",  "R02",  "R03",  "R04",  "R05",  "R06",  "R07",  "R08",  "R09",
      "R10",  "R11",  "R12",  "R13",  "R14",  "R15",  "S01",  "S02",  "S03",  "S04",  "S05",
      "S06",  "T01",  "T02",  "T03",  "T04",  "T05",  "T06",  "T07",  "T08",  "T09",  "T10",
      "T11",  "T12",  "T13",  "T14",  "T15",  "T16",  "T17",  "T18",  "T19",  "T20",  "T21",
      "T22",  "T23",  "T24",  "T25",  "T26",  "T27",  "T28",  "T29",  "T30",  "T31",  "T32",
      "T33",  "T34",  "T35",  "T36",  "T37",  "T38",  "T39",  "T40",  "T41",  "T42",  "T43",
      "T44",  "T45",  "T46",  "T47",  "T48",  "T49",  "T50",  "T51",  "T52",  "T53",  "T54",
      "T55",  "T56",  "T57",  "T58",  "T59",  "T60",  "T61",  "T62",  "T63",  "T64",  "T65",
      "T66",  "T67",  "W01",  "W02",  "W03",  "W04",  "W05",  "W06",  "W07",  "W08",  "W09",
      "W10",  "W11",  "W12",  "W13",  "W14",  "W15",  "W16",  "W17",  "W18",  "W19",  "W20",
      "W21",  "W22",  "W23",  "W24",  "W25",  "W26",  "W27",  "W28",  "W29",  "W30",  "W31",
      "W32",  "W33",  "W34",  "X01",  "X02",  "X03",  "X04",  "X05",  "X06",  "X07",  "X08",
      "X09",  "X10",  "X11",  "X12",  "X13",  "X14",  "X15",  "X16",  "X17",  "X18",  "X20",
      "X21",  "X22",  "X23",  "X24",  "X25",  "X26",  "X27",  "X28",  "X29",  "X30",  "X31",
      "X32",  "X33",  "X34",  "X35",  "X36",  "X40",  "X41",  "X42",  "X43",  "X44",  "X45",
      "X46",  "X47",  "X48",  "X49",  "X50",  "X51"};
  std::vector<std::string> names;
  for (const auto& patch : mutant_patches()) names.push_back(patch.stem());
  EXPECT_EQ(names, expected);
}

TEST(Mutants, EveryShippedKernelHasOne) {
  std::set<std::string> kernels;
  for (const auto& patch : mutant_patches()) kernels.insert(mutant_kernel(patch));
  const Result<Registry> registry = Registry::open(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels");
  ASSERT_TRUE(registry.ok()) << registry.error().text();
  const auto shipped = registry->match({});
  ASSERT_TRUE(shipped.ok()) << shipped.error().text();
  for (const Manifest* kernel : *shipped)
    EXPECT_TRUE(kernels.contains(kernel->name)) << kernel->name;
}

// verify replays it; tests/cli/mutants.sh sees it fail the mutant.
TEST(Mutants, EveryOneHasAKeptCase) {
  for (const auto& patch : mutant_patches()) {
    const std::filesystem::path kept = std::string(PLUMBLINE_SOURCE_DIR) + "/fuzz/corpus/" +
                                       mutant_kernel(patch) + "/kills_" + patch.stem().string() +
                                       ".case";
    EXPECT_TRUE(std::filesystem::exists(kept)) << kept;
  }
}

TEST(Mutants, EveryPatchAppliesAndChangesTheKernel) {
  const std::string source = all_kernel_text(PLUMBLINE_SOURCE_DIR);
  for (const auto& patch : mutant_patches()) {
    const TemporaryFolder folder;
    EXPECT_EQ(apply_mutant(folder, patch), 0) << patch;
    EXPECT_TRUE(all_kernel_text(folder.path()) != source) << patch;
  }
}

TEST(Mutants, EveryHeaderSaysWhatWhereAndWhichCheck) {
  for (const auto& patch : mutant_patches()) {
    const std::string text = read_file(patch);
    EXPECT_TRUE(text.starts_with(patch.stem().string() + " · tier ")) << patch;
    for (const char* part :
         {"\nkernel ", "\nwhat ", "\nseen in ", "\nkilled by ", "\nsmallest ", "claim"}) {
      EXPECT_NE(text.find(part), std::string::npos) << patch << part;
    }
  }
}

}  // namespace
}  // namespace plumbline
