// SPDX-License-Identifier: MIT
#include "harness/launch/device_image.h"

namespace plumbline {

std::int64_t device_bytes(FormatId id, std::int64_t elements) {
  return is_packed(id) ? (elements + 1) / 2 : elements * format(id).storage_bytes();
}

std::int64_t byte_of(FormatId id, std::int64_t element) {
  return is_packed(id) ? element / 2 : element * format(id).storage_bytes();
}

std::int64_t element_in(FormatId id, std::int64_t byte) {
  return is_packed(id) ? byte * 2 : byte / format(id).storage_bytes();
}

std::vector<std::byte> packed(const std::vector<std::byte>& storage) {
  constexpr std::byte kCode{0xf};
  std::vector<std::byte> image((storage.size() + 1) / 2);
  for (std::size_t i = 0; i < storage.size(); ++i)
    image[i / 2] |= i % 2 == 0 ? storage[i] & kCode : storage[i] << 4;
  return image;
}

std::vector<std::byte> unpacked(const std::vector<std::byte>& image, std::size_t elements) {
  constexpr std::byte kCode{0xf};
  std::vector<std::byte> storage(elements);
  for (std::size_t i = 0; i < elements; ++i)
    storage[i] = i % 2 == 0 ? image[i / 2] & kCode : image[i / 2] >> 4;
  return storage;
}

}  // namespace plumbline
