# SPDX-License-Identifier: MIT
class constexpr:
    pass
