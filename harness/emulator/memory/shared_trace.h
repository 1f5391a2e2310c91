// SPDX-License-Identifier: MIT
// Every access of a few bytes of one CTA's shared memory, by instruction. The shadow of shared
// memory is too hot to keep instructions, so it can say of the other access of a race only which
// warp made it. A launch that found a race is deterministic: launched again with the byte traced
// (LaunchRequest::traced) it also says by which instruction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace plumbline::emulator {

struct Inst;

struct SharedAccess {
  const char* access_kind = "";  // as OtherAccess::access_kind
  const Inst* inst = nullptr;    // null: there was none
  int warp = 0;
  int lane = 0;
  std::optional<std::uint32_t> cta = {};  // where it is not the one whose memory it is
};

class SharedTrace {
 public:
  void clear() { bytes_.clear(); }

  void follow(std::uint64_t address) { bytes_[address]; }

  bool empty() const { return bytes_.empty(); }

  // Whether one of the bytes is traced.
  bool follows(std::uint64_t first, std::uint64_t bytes) const {
    const auto found = bytes_.lower_bound(first);
    return found != bytes_.end() && found->first - first < bytes;
  }

  // Calls visit(address) for every traced byte.
  template <typename Visit>
  void each(Visit&& visit) const {
    for (const auto& [address, accesses] : bytes_) visit(address);
  }

  void note_read(const SharedAccess& access, std::uint64_t first, std::uint64_t bytes) {
    visit_range(first, bytes,
                [&](Accesses& of) { of.reads[static_cast<std::size_t>(access.warp)] = access; });
  }

  void note_write(const SharedAccess& access, std::uint64_t first, std::uint64_t bytes) {
    visit_range(first, bytes, [&](Accesses& of) { of.write = access; });
  }

  // The last access of the byte that the warp made, a read or else a write. Without an instruction:
  // another one came after it, or the byte is not traced.
  SharedAccess last(std::uint64_t address, int warp, bool read) const {
    const auto found = bytes_.find(address);
    if (found == bytes_.end()) return {};
    const SharedAccess& access =
        read ? found->second.reads[static_cast<std::size_t>(warp)] : found->second.write;
    return access.warp == warp ? access : SharedAccess();
  }

 private:
  struct Accesses {
    SharedAccess write;                  // the last one
    std::array<SharedAccess, 32> reads;  // the last one of each warp
  };

  template <typename Visit>
  void visit_range(std::uint64_t first, std::uint64_t bytes, Visit&& visit) {
    for (auto at = bytes_.lower_bound(first); at != bytes_.end() && at->first - first < bytes; ++at)
      visit(at->second);
  }

  std::map<std::uint64_t, Accesses> bytes_;  // by address
};

}  // namespace plumbline::emulator
