// SPDX-License-Identifier: MIT
// Text from outside (kernel names, case texts, findings, PTX) on its way into a document. Nothing
// else may put a text between tags or quotes.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

// Valid UTF-8 without control characters but newline and tab: what XML 1.0 and people can read.
// Everything else becomes U+FFFD.
std::string readable(std::string_view text);

// readable(), for HTML text and quoted attributes.
std::string html_text(std::string_view text);

// What a reader sees of markup whose texts html_text() made: without tags, and "; " where a
// paragraph begins behind something else.
std::string text_of_html(std::string_view html);

// readable(), on one line, for a Markdown table cell or paragraph; `code` spans get no backticks.
std::string markdown_text(std::string_view text);
std::string markdown_code(std::string_view text);

std::string base64(std::string_view bytes);

// The bytes of a file name or path in a URI: everything but letters, digits and "-._~/" as %XX.
std::string uri_path(std::string_view path);

}  // namespace plumbline
