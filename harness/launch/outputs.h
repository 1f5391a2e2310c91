// SPDX-License-Identifier: MIT
// Outputs in memory: what they hold before a launch, and the checks after it that need no expected
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "harness/launch/launch_result.h"

namespace plumbline {

// The code outputs and workspaces are filled with before a launch: a NaN with a payload no hardware
// produces where the format has one, else the byte 0xa5.
std::uint64_t poison_code(const Format& format);
std::vector<std::byte> poison_bytes(const TensorLayout& layout);

// A finding where padding between the rows of an output was written. `before`: the bytes that the
// storage of `got` had before the launch.
void check_padding(const Case& test_case, const TensorSpec& spec, std::span<const std::byte> before,
                   const Tensor& got, LaunchResult& result);

// Elements that still hold their poison. A format of 8 bits has no NaN that no result is, so
// `written` is asked where there are any: for each byte of the storage 1 if it was written, or
// nothing where that is not known.
void find_unwritten(const std::string& output, const Tensor& got,
                    const std::function<std::vector<std::byte>()>& written, LaunchResult& result);

// Of the elements alone: bytes between rows are not the launch's.
std::uint64_t fingerprint_of(const Tensor& tensor);

}  // namespace plumbline
