// SPDX-License-Identifier: MIT
// The fields of a planted fault's record, as record_fields.h lists those of a run.
#pragma once

#include "reports/record/json_archive.h"
#include "reports/record/mutant_record.h"

namespace plumbline {

template <typename Archive, MaybeConst<MutantRecord> T>
void describe(Archive& a, T& m) {
  a.required("kernel", m.kernel);
  a.required("id", m.id);
  a.required("kind", m.kind);
  a.required("outcome", m.outcome);
  a.required("cases", m.cases);
  a.required("changed", m.changed);
  a.optional("claim", m.claim);
  a.optional("finding", m.finding);
  a.optional("reason", m.reason);
  a.optional("case", m.text);
  a.optional("device", m.device);
  a.optional("worst_share", m.worst_share);
  a.optional("same_as", m.same_as);
  a.optional("line", m.line);
  a.optional("source", m.source);
  a.optional("before", m.before);
  a.optional("after", m.after);
  a.optional("accepted_by", m.accepted_by);
}

template <typename Archive, MaybeConst<PeerRecord> T>
void describe(Archive& a, T& p) {
  a.required("kernel", p.kernel);
  a.required("rule", p.rule);
  a.required("formula", p.formula);
  a.required("cases", p.cases);
  a.required("false_alarms", p.false_alarms);
}

}  // namespace plumbline
