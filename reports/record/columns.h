// SPDX-License-Identifier: MIT
// Many objects of one kind as columns. A table looks like one of the objects, with a column where
// the object has a value, and is a tenth of their size: keys are written once, and values that many
// of them share are, too.
//
//   {"m": 8, "name": "d"}, {"m": 8, "name": "e"}   is   {"m": {"all": 8}, "name": {"each": ["d", "e"]}}
//
// A column is {"all": value}, {"each": values}, or {"values": values, "each": places in them}. An
// object without such a value has null in its column. Texts of words like "m=8" may be columns of
// these: {"words": [["gemm", {"all": true}], ["m", {"each": [8, 9]}]], "each": places in them}.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/record/json_archive.h"

namespace plumbline {

// Of at least one object.
Json table_of(const std::vector<Json>& objects);

// Whether `count` objects can be taken from a table without more memory than any record needs: a
// few bytes of a file that nobody trusts may stand for any number of long texts.
bool fits_memory(const nlohmann::json& table, std::size_t count);

// One of the `count` objects of a table. Where the table is none, `error` says what is due.
nlohmann::json object_of(const nlohmann::json& table, std::size_t index, std::size_t count,
                         std::string& error);

}  // namespace plumbline
