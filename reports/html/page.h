// SPDX-License-Identifier: MIT
// What every page has around its sections: the verdict, links to the groups, style and scripts, and
// a content security policy that lets it load nothing.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "reports/html/parts.h"

namespace plumbline {

struct PageHead {
  Tone tone = Tone::none;  // pass, near or fail
  std::string verb{};      // "verify"
  std::string what{};      // behind the verb: " · quick · run 326e04"
  std::string verdict{};   // a sentence
};

std::string html_page(const PageHead& head, const Html& body);

Html group_heading(std::string_view title);

// Sections under one heading, which is left out when none of them has data.
Html group(std::string_view title, std::initializer_list<Html> sections);

// Tables that nothing smaller claims are of this group.
Html of_group(Html html, std::string_view group);

}  // namespace plumbline
