// SPDX-License-Identifier: MIT
// The colors of report.html, read from its style sheet: text that cannot be read on its background
// would be found here, in light, dark and print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "reports/html/html.h"
#include "reports/html/page_files.h"
#include "tests/reports/html/page_samples.h"

namespace plumbline {
namespace {

using Colors = std::map<std::string, std::string>;  // by the name of their variable

// What a variable may refer to.
std::string resolved(const Colors& colors, const std::string& value) {
  static const std::regex kVariable(R"(var\(--(\w+)\))");
  std::smatch name;
  return std::regex_match(value, name, kVariable) ? resolved(colors, colors.at(name[1])) : value;
}

// Light, dark and print: each starts from the one before it in the file, the light one.
std::vector<Colors> schemes() {
  static const std::regex kRoot(R"(:root \{([^}]*)\})"), kColor(R"(--(\w+): ([^;]+);)");
  const std::string style(kPageStyle.text);
  std::vector<Colors> found;
  for (std::sregex_iterator root(style.begin(), style.end(), kRoot), end; root != end; ++root) {
    Colors colors = found.empty() ? Colors() : found.front();
    const std::string block = (*root)[1];
    for (std::sregex_iterator color(block.begin(), block.end(), kColor); color != end; ++color)
      colors[(*color)[1]] = (*color)[2];
    found.push_back(colors);
  }
  return found;
}

// Relative luminance of "#rrggbb", and the contrast of two (WCAG 2.1, 1.4.3).
double luminance(const std::string& color) {
  EXPECT_THAT(color, ::testing::MatchesRegex("#[0-9a-f]{6}"));
  constexpr std::array kWeights = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < kWeights.size(); ++i) {
    const double channel = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += kWeights[i] *
           (channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

// What `property` is declared to be anywhere.
std::set<std::string> values_of(const std::string& property) {
  const std::regex declaration("[{;] *" + property + ": ([^;}]+);");
  const std::string style(kPageStyle.text);
  std::set<std::string> values;
  for (std::sregex_iterator one(style.begin(), style.end(), declaration), end; one != end; ++one)
    values.insert((*one)[1]);
  return values;
}

TEST(Contrast, IsKnownForKnownColors) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-9);
  EXPECT_NEAR(contrast("#777777", "#ffffff"), 4.48, 0.005);  // the gray that just fails
}

TEST(Contrast, OfEveryTextOnEveryBackgroundIsEnough) {
  const std::vector<Colors> all = schemes();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[0].at("paper"), all[1].at("paper"));
  static const std::regex kVariable(R"(var\(--(\w+)\))");
  int pairs = 0;
  for (const std::string& text : values_of("color")) {
    if (text == "inherit") continue;
    ASSERT_TRUE(std::regex_match(text, kVariable)) << text;
    for (const std::string& background : values_of("background")) {
      if (background == "none" || background == "currentColor" ||
          background.starts_with("var(--on") ||  // of the error map, below
          background.starts_with("linear-gradient"))
        continue;  // bars, which hold no text
      ASSERT_TRUE(std::regex_match(background, kVariable)) << background;
      if (background == "var(--blue)") continue;  // a bar, too
      for (const Colors& colors : all) {
        ++pairs;
        EXPECT_GE(contrast(resolved(colors, text), resolved(colors, background)), 4.5)
            << text << " on " << background << ": " << resolved(colors, text) << " on "
            << resolved(colors, background);
      }
    }
  }
  EXPECT_GT(pairs, 30);
}

// The colors of an error map stand in its legend: exact, least, middle and worst. Away from the
// paper means worse, and the worst stands out as text does.
TEST(Contrast, OfErrorMapsIsLargestForTheWorstErrors) {
  const std::string page = report_html(failing_record());
  const std::vector<Colors> all = schemes();
  for (const auto& [name, scheme] : {std::pair{"onlight", 0}, {"ondark", 1}, {"onlight", 2}}) {
    const std::string& paper = all[static_cast<std::size_t>(scheme)].at("paper");
    const std::regex swatch(std::string("--") + name + ":(#[0-9a-f]{6})");
    std::vector<double> contrasts;
    for (std::sregex_iterator one(page.begin(), page.end(), swatch), end; one != end; ++one)
      contrasts.push_back(contrast((*one)[1], paper));
    ASSERT_EQ(contrasts.size(), 4u);
    EXPECT_LT(contrasts[0], 1.6) << "exact is near the paper";
    EXPECT_TRUE(std::is_sorted(contrasts.begin() + 1, contrasts.end())) << name;
    EXPECT_GT(contrasts.back(), 7) << name;
    EXPECT_GT(contrasts.back(), 4 * contrasts[1]) << name;
  }
}

}  // namespace
}  // namespace plumbline
