// SPDX-License-Identifier: MIT
// The predefined read-only registers of PTX by name. Whether the emulator can answer one is decided
// by decode.
#pragma once

#include <span>
#include <string_view>

namespace plumbline::emulator {

// "%laneid", "%tid" (without its ".x").
bool is_special_register(std::string_view name);

// %tid, %ctaid and the like have .x .y .z .w parts.
bool has_parts(std::string_view name);

std::span<const std::string_view> special_registers();

}  // namespace plumbline::emulator
