// SPDX-License-Identifier: MIT
// The fields of what propagation found, as record_fields.h lists those of a run.
#pragma once

#include "reports/record/json_archive.h"
#include "reports/record/propagation.h"

namespace plumbline {

template <typename Archive, MaybeConst<StageRecord> T>
void describe(Archive& a, T& r) {
  a.required("name", r.name);
  a.required("kind", r.kind);
  a.required("alone", r.alone);
  a.required("without", r.without);
  a.required("in_order", r.in_order);
  a.required("own_in_order", r.own_in_order);
  a.required("any_order", r.any_order);
  a.required("any_order_error", r.any_order_error);
  a.required("own_any_order", r.own_any_order);
  a.required("own_any_order_error", r.own_any_order_error);
}

template <typename Archive, MaybeConst<ErrorPartRecord> T>
void describe(Archive& a, T& r) {
  a.required("name", r.name);
  a.required("relative", r.relative);
  a.required("share", r.share);
}

template <typename Archive, MaybeConst<ConditionBand> T>
void describe(Archive& a, T& r) {
  a.required("low", r.low);
  a.required("high", r.high);
  a.required("elements", r.elements);
  a.required("forward", r.forward);
  a.required("backward", r.backward);
}

template <typename Archive, MaybeConst<ConditionRecord> T>
void describe(Archive& a, T& r) {
  a.required("median", r.median);
  a.required("largest", r.largest);
  a.required("worst_forward", r.worst_forward);
  a.required("worst_condition", r.worst_condition);
  a.required("worst_backward", r.worst_backward);
  a.required("expected_backward", r.expected_backward);
  a.required("bands", r.bands);
}

template <typename Archive, MaybeConst<PropagationRecord> T>
void describe(Archive& a, T& r) {
  a.required("kernel", r.kernel);
  a.required("case", r.text);
  a.required("device", r.device);
  a.required("output", r.output);
  a.optional("swept", r.swept);
  a.required("magnitude", r.magnitude);
  a.required("error", r.error);
  a.required("own_error", r.own_error);
  a.required("modelled", r.modelled);
  a.required("unexplained", r.unexplained);
  a.required("own_unexplained", r.own_unexplained);
  a.required("interaction", r.interaction);
  a.required("root_sum_square", r.root_sum_square);
  a.required("fault_stage", r.fault_stage);
  a.required("fault", r.fault);
  a.required("fault_explains", r.fault_explains);
  a.required("stages", r.stages);
  a.required("parts", r.parts);
  a.required("condition", r.condition);
  a.required("findings", r.findings);
}

template <typename Archive, MaybeConst<DepthCurve> T>
void describe(Archive& a, T& r) {
  a.required("name", r.name);
  a.required("relative", r.relative);
  a.required("injected", r.injected);
  a.required("gain", r.gain);
  a.required("exponent", r.exponent);
  a.required("growth", r.growth);
  a.required("predicted", r.predicted);
  a.optional("weights", r.weights);
}

template <typename Archive, MaybeConst<DepthRecord> T>
void describe(Archive& a, T& r) {
  a.required("stack", r.stack);
  a.optional("steps", r.steps);
  a.optional("swept", r.swept);
  a.required("layers", r.layers);
  a.required("curves", r.curves);
  a.required("findings", r.findings);
}

template <typename Archive, MaybeConst<StochasticRecord> T>
void describe(Archive& a, T& r) {
  a.required("kernel", r.kernel);
  a.required("case", r.text);
  a.required("device", r.device);
  a.required("output", r.output);
  a.optional("swept", r.swept);
  a.required("draws", r.draws);
  a.required("elements", r.elements);
  a.required("steady", r.steady);
  a.required("bits", r.bits);
  a.required("bits_low", r.bits_low);
  a.required("uncertainty", r.uncertainty);
  a.required("shared_bits", r.shared_bits);
  a.required("shared_probability", r.shared_probability);
  a.required("deviation", r.deviation);
  a.required("of_bound", r.of_bound);
  a.required("bias", r.bias);
  a.required("toward_zero", r.toward_zero);
  a.required("unbiased_nodes_bias", r.unbiased_nodes_bias);
  a.required("findings", r.findings);
}

template <typename Archive, MaybeConst<GradientRecord> T>
void describe(Archive& a, T& r) {
  a.required("kernel", r.kernel);
  a.required("case", r.text);
  a.required("device", r.device);
  a.required("output", r.output);
  a.optional("swept", r.swept);
  a.required("draws", r.draws);
  a.required("relative", r.relative);
  a.required("cosine_gap", r.cosine_gap);
  a.optional("source_relative", r.source_relative);
  a.optional("source_cosine_gap", r.source_cosine_gap);
  a.required("parallel", r.parallel);
  a.optional("parallel_error", r.parallel_error);
  a.required("orthogonal", r.orthogonal);
  a.required("row_median", r.row_median);
  a.required("row_99", r.row_99);
  a.required("row_largest", r.row_largest);
  a.optional("head_median", r.head_median);
  a.optional("head_99", r.head_99);
  a.optional("head_largest", r.head_largest);
  a.optional("channel_median", r.channel_median);
  a.optional("channel_99", r.channel_99);
  a.optional("channel_largest", r.channel_largest);
  a.optional("of_spread", r.of_spread);
  a.required("bias", r.bias);
  a.required("bias_noise", r.bias_noise);
  a.required("expected", r.expected);
  a.required("descent", r.descent);
  a.required("adam_difference", r.adam_difference);
  a.required("adam_flips", r.adam_flips);
  a.optional("stagnation_rate", r.stagnation_rate);
  a.required("lost", r.lost);
  a.required("not_finite", r.not_finite);
  a.required("findings", r.findings);
}

}  // namespace plumbline
