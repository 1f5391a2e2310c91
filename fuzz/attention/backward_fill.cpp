// SPDX-License-Identifier: MIT
#include "fuzz/attention/backward_fill.h"

#include <algorithm>
#include <cmath>

#include "fuzz/attention/backward_values.h"
#include "fuzz/attention/fill.h"
#include "fuzz/attention/scales.h"
#include "fuzz/attention/stored.h"
#include "kernels/ops/attention_fields.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// One row of a [batch, heads, length, width] or [batch, heads, length] tensor.
class Row {
 public:
  Row(Tensor& tensor, const HeadPlace& place, std::int64_t query)
      : tensor_(tensor), element_(format(tensor.layout.format)) {
    const TensorLayout& layout = tensor.layout;
    start_ = layout.offset + place.batch * layout.strides[0] + place.head * layout.strides[1] +
             (place.first_query + query) * layout.strides[2];
    step_ = layout.shape.size() == 4 ? layout.strides[3] : 0;
  }

  // Finite numbers stay finite.
  void set(std::int64_t column, double value) {
    const Overflow overflow = std::isfinite(value) ? Overflow::saturate : Overflow::to_special;
    tensor_.set_bits_at(start_ + column * step_, encode(element_, value, {.overflow = overflow}));
  }

  double get(std::int64_t column) const {
    return to_double(element_, tensor_.bits_at(start_ + column * step_));
  }

 private:
  Tensor& tensor_;
  const Format& element_;
  std::int64_t start_ = 0, step_ = 0;
};

// The forward pass has nothing to do with a class that chooses the gradient.
Case forward_case(const Case& test_case) {
  Case forward = test_case;
  const auto own = gradient_classes();
  if (std::find(own.begin(), own.end(), forward.recipe.value_class) != own.end())
    forward.recipe.value_class = "normal";
  return forward;
}

}  // namespace

void attention_backward_fill(const Case& test_case, CaseTensors& tensors) {
  const Case forward = forward_case(test_case);
  attention_fill(forward, tensors);
  const AttentionContext context = attention_context(forward, tensors);
  const OutputGradient gradient = output_gradient(test_case.recipe.value_class, context);
  const AttentionProblem problem = attention_problem(test_case.problem, tensors);
  Tensor &o = *tensors.find("o"), &d_o = *tensors.find("do"), &lse = *tensors.find("lse");
  const std::vector<HeadPlace> places = head_places(problem);
  // Rows that belong to no sequence hold NaN: nothing may come of them.
  const auto slack = [&](const HeadPlace& place) {
    return place.sequence == std::ssize(context.sequences);
  };
  AttentionScales scales(format(d_o.layout.format), tensors.find("do_scale"), false);
  for (const HeadPlace& place : places) {
    const AttentionHead head = attention_head(problem, place);
    for (std::int64_t i = 0; i < place.queries; ++i) {
      const StoredRow stored = stored_attention_row(head, i);
      Row o_row(o, place, i);
      Row(lse, place, i).set(0, slack(place) ? kNan : stored.lse);
      for (std::int64_t x = 0; x < head.dv; ++x) {
        o_row.set(x, slack(place) ? kNan : stored.o[static_cast<std::size_t>(x)]);
        if (slack(place)) continue;
        const AttentionSpot at{place.sequence, place.head, i, x};
        const double value = gradient(at, o_row.get(x));
        if (scales.any() && std::isfinite(value)) scales.see(at, place.first_query + i, value);
      }
    }
  }
  if (scales.any()) scales.draw(context.stream("do_scale"));
  fill_ds_scale(context, tensors.find("ds_scale"));
  for (const HeadPlace& place : places) {
    for (std::int64_t i = 0; i < place.queries; ++i) {
      Row o_row(o, place, i), gradient_row(d_o, place, i);
      for (std::int64_t x = 0; x < d_o.layout.shape[3]; ++x) {
        const AttentionSpot at{place.sequence, place.head, i, x};
        gradient_row.set(
            x, slack(place) ? kNan
                            : gradient(at, o_row.get(x)) / scales.unit(at, place.first_query + i));
      }
    }
  }
}

void attention_store_forward(const Problem& problem, CaseTensors& tensors) {
  const AttentionProblem attention = attention_problem(problem, tensors);
  Tensor &o = *tensors.find("o"), &lse = *tensors.find("lse");
  for (const HeadPlace& place : head_places(attention)) {
    const AttentionHead head = attention_head(attention, place);
    for (std::int64_t i = 0; i < place.queries; ++i) {
      const StoredRow stored = stored_attention_row(head, i);
      Row(lse, place, i).set(0, stored.lse);
      Row o_row(o, place, i);
      for (std::int64_t x = 0; x < head.dv; ++x)
        o_row.set(x, stored.o[static_cast<std::size_t>(x)]);
    }
  }
}

}  // namespace plumbline
