// SPDX-License-Identifier: MIT
// The border between one case and the run of all others: what is thrown on this side of it is an
// Error on the other.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "harness/launch/interrupt.h"
#include "harness/launch/launcher.h"
#include "oracles/base/result.h"
#include "oracles/exact/parallel.h"

namespace plumbline {

// What a case's work gives, or the exception that left it as an Error: one case that cannot run
// must not end the run of all others.
template <typename Work>
auto without_exceptions(const std::string& subject, const std::atomic<bool>& give_up,
                        const Work& work) -> decltype(work()) {
  const auto too_much_memory = [&] {
    return Error{ErrorKind::out_of_memory,
                 fmt::format("{} needs more memory than is free", subject), "",
                 "use a smaller shape, or fewer --jobs"};
  };
  try {
    const GiveUpOn when_asked(&give_up);
    return work();
  } catch (const GivenUp&) {
    return interruption(subject);
  } catch (const Undefined& undefined) {
    return undefined.error();
  } catch (const std::bad_alloc&) {
    return too_much_memory();
  } catch (const std::length_error&) {
    return too_much_memory();
  } catch (const std::exception& error) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{}: internal error: {}", subject, error.what()), "",
                 "this is a fault of plumbline; please report it with this line"};
  }
}

}  // namespace plumbline
