// SPDX-License-Identifier: MIT
// The files report.html is made with, embedded when plumbline is built (cmake/embed.cmake): the
// page around the sections, its look, the code that draws, and Chart.js from Debian's
// libjs-chart.js.
#pragma once

#include <string_view>

namespace plumbline {

struct PageFile {
  std::string_view text;
  std::string_view sha256;  // hexadecimal
};

extern const PageFile kPageHtml, kPageStyle, kPageScript, kChartScript;

}  // namespace plumbline
