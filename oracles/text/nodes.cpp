// SPDX-License-Identifier: MIT
#include "oracles/text/nodes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumbline::text {
namespace {

std::shared_ptr<Node> made(Kind kind, Place place) {
  auto out = std::make_shared<Node>();
  out->kind = kind;
  out->place = place;
  return out;
}

NodePtr adopted(const std::shared_ptr<Node>& node, std::vector<NodePtr> children) {
  node->depth = 1;
  for (const NodePtr& child : children) node->depth = std::max(node->depth, child->depth + 1);
  node->children = std::move(children);
  return node;
}

}  // namespace

NodePtr number_node(double value, Place place) {
  auto out = made(Kind::number, place);
  out->number = value;
  out->whole = std::floor(value) == value && std::fabs(value) <= 0x1p53;
  return out;
}

NodePtr name_node(std::string name, Place place) {
  auto out = made(Kind::name, place);
  out->name = std::move(name);
  return out;
}

NodePtr reference_node(std::string name, std::vector<NodePtr> subscripts, Place place) {
  if (subscripts.empty()) return name_node(std::move(name), place);
  auto out = made(Kind::reference, place);
  out->name = std::move(name);
  return adopted(out, std::move(subscripts));
}

NodePtr call_node(std::string_view function, std::vector<NodePtr> arguments) {
  auto out = made(Kind::call, arguments.front()->place);
  out->name = function;
  return adopted(out, std::move(arguments));
}

NodePtr unary_node(Kind kind, NodePtr a) {
  const auto out = made(kind, a->place);
  return adopted(out, {std::move(a)});
}

NodePtr binary_node(Kind kind, NodePtr a, NodePtr b) {
  const auto out = made(kind, a->place);
  return adopted(out, {std::move(a), std::move(b)});
}

NodePtr with_children(const Node& node, std::vector<NodePtr> children) {
  return adopted(std::make_shared<Node>(node), std::move(children));
}

Extents::Extents(const OperationText& text) {
  for (const Parameter& one : text.parameters) {
    if (!one.is_tensor) continue;
    sizes_[one.name] = one.sizes;
    if (one.inout) sizes_[one.name + "'"] = one.sizes;
  }
  for (const Step& step : text.steps) {
    if (sizes_.contains(step.name)) continue;
    std::vector<NodePtr> sizes;
    for (const NodePtr& subscript : step.subscripts) {
      const auto bound = std::ranges::find(step.bounds, subscript->name, &Index::name);
      sizes.push_back(bound != step.bounds.end() ? bound->high
                                                 : implied(*step.value, subscript->name));
    }
    if (std::ranges::all_of(sizes, [](const NodePtr& size) { return size != nullptr; }))
      sizes_[step.name] = std::move(sizes);
  }
}

const std::vector<NodePtr>* Extents::of(std::string_view name) const {
  const auto found = sizes_.find(name);
  return found == sizes_.end() ? nullptr : &found->second;
}

NodePtr Extents::implied(const Node& value, std::string_view index) const {
  const std::vector<NodePtr>* sizes = value.kind == Kind::reference ? of(value.name) : nullptr;
  for (std::size_t d = 0; sizes && d < std::min(value.children.size(), sizes->size()); ++d) {
    if (value.children[d]->kind == Kind::name && value.children[d]->name == index)
      return (*sizes)[d];
  }
  for (const NodePtr& child : value.children) {
    if (NodePtr found = implied(*child, index)) return found;
  }
  return value.condition ? implied(*value.condition, index) : nullptr;
}

}  // namespace plumbline::text
