# SPDX-License-Identifier: MIT
class ASTSource:
    def __init__(self, kernel, types, constants, alignment):
        self.kernel = kernel
