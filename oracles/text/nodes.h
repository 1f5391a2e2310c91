// SPDX-License-Identifier: MIT
// Nodes for texts that are made from other texts, and how far the indices of a text go.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/text/syntax.h"

namespace plumbline::text {

NodePtr number_node(double value, Place place);
NodePtr name_node(std::string name, Place place);
NodePtr reference_node(std::string name, std::vector<NodePtr> subscripts, Place place);
NodePtr call_node(std::string_view function, std::vector<NodePtr> arguments);
NodePtr unary_node(Kind kind, NodePtr a);
NodePtr binary_node(Kind kind, NodePtr a, NodePtr b);

// The node with other children; its depth follows.
NodePtr with_children(const Node& node, std::vector<NodePtr> children);

// The sizes of a text's tensors and steps, as nodes.
class Extents {
 public:
  explicit Extents(const OperationText& text);

  // Of an input, an output or a step; "x'" is an inout tensor at its exit. Null: there is none, or
  // nothing says how large it is.
  const std::vector<NodePtr>* of(std::string_view name) const;

  // The size that an index goes through where it is a subscript itself. Null: it is none.
  NodePtr implied(const Node& value, std::string_view index) const;

 private:
  std::map<std::string, std::vector<NodePtr>, std::less<>> sizes_;
};

}  // namespace plumbline::text
