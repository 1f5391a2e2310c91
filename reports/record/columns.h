// SPDX-License-Identifier: MIT
// Many objects of one kind as columns. A table looks like one of the objects, with a column where
// the object has a value, and is a tenth of their size: keys are written once, and values that many
// of them share are, too.
//
//   {"m": 8, "name": "d"}, {"m": 8, "name": "e"}   is   {"m": {"all": 8}, "name": {"each": ["d", "e"]}}
//
// A column is {"all": value}, {"each": values}, or {"values": values, "each": places in them}. An
// object without such a value has null in its column. Texts of words like "m=8" may be columns of
// these: {"words": [["gemm", {"all": true}], ["m", {"each": [8, 9]}]], "each": places in them}. In
// place of "each" there may be "runs": [8, 3, 9, 1] is 8, 8, 8, 9.
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
// few bytes of an untrusted file may stand for any number of long texts.
bool fits_memory(const nlohmann::json& table, std::size_t count);

// The table with "each" in place of "runs". Errors: runs that are none, or of more than `count`
// objects.
nlohmann::json without_runs(nlohmann::json table, std::size_t count, std::string& error);

// One of the `count` objects of a table without runs. Where the table is none, `error` says what is
// due.
nlohmann::json object_of(const nlohmann::json& table, std::size_t index, std::size_t count,
                         std::string& error);

}  // namespace plumbline
