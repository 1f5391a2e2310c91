// SPDX-License-Identifier: MIT
// Result<T>: a value, or an Error that a user can act on.
// What a user can cause (a typo in a manifest, unknown PTX, a shape outside the domain) travels as
// a Result; what only a bug in plumbline can cause is PLUMB_ASSERT. No exception crosses a room's
// boundary.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace plumbline {

// Which exit code an error leads to (see harness/cli/exit_code.h).
enum class ErrorKind {
  bad_input,      // command line, manifest, case file or tensor: nothing ran (exit 2)
  cannot_run,     // no device, compile error, unsupported instruction, launch failure (exit 3)
  out_of_memory,  // the shape needs more memory than there is (exit 3)
};

struct Error {
  ErrorKind kind = ErrorKind::bad_input;
  std::string message;  // what happened, to which value; lower case, no full stop
  std::string where;    // "file:line:column", empty where there is none
  std::string hint;     // what to type or change next; may be empty

  // "where: message (hint)" on one line.
  std::string text() const;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }

  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }

  const T& value() const& { return std::get<0>(state_); }

  T&& value() && { return std::get<0>(std::move(state_)); }

  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

  T&& operator*() && { return std::move(*this).value(); }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;

  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }

  explicit operator bool() const { return ok(); }

  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace plumbline
