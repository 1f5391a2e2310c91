# SPDX-License-Identifier: MIT
def GPUTarget(*words):
    return words
