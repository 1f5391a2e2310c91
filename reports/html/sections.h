// SPDX-License-Identifier: MIT
// The sections of report.html, one function each: markup, or nothing where the record has no data
// for it. html.cpp and html/kernel.cpp put them in order; a new section is a function here and a
// line there.
#pragma once

#include "reports/html/html.h"
#include "reports/html/parts.h"
#include "reports/record/record.h"

namespace plumbline {

// Of the whole run (html/overview.cpp).
Html lead(const RunRecord& record);  // what is wrong, within the first screen
Html kernel_overview(const RunRecord& record);
Html change_section(const RunRecord& record, const PageOptions& options);

// Of other verbs' runs (html/propagation.cpp, html/mutants.cpp).
Html propagation_sections(const RunRecord& record);
Html mutant_sections(const RunRecord& record);

// Of the whole run (html/coverage.cpp).
Html coverage_overview(const RunRecord& record);

// Of the whole run (html/agreement.cpp).
Html agreement_matrix(const RunRecord& record);

// Of the whole run (html/trust.cpp).
Html determinism_section(const RunRecord& record);
Html bits_section(const RunRecord& record);
Html agreement_section(const RunRecord& record);
Html relations_section(const RunRecord& record);
Html code_section(const RunRecord& record);
Html oracle_section(const RunRecord& record);
Html environment_section(const RunRecord& record);

// One kernel, everything about it (html/kernel.cpp). Its anchor is kernel_anchor(name).
Html kernel_section(const RunRecord& record, const KernelRecord& kernel);
std::string kernel_anchor(std::string_view kernel);

// Of a kernel (html/cards.cpp, html/errors.cpp, html/error_map.cpp, html/magnitude.cpp,
// html/coverage.cpp).
Html cards(const RunRecord& record, const KernelRecord& kernel);
// What the first screen has of a card: the cause, the values, the source, and what to type. Where
// that is there (is_in_lead), the card of the kernel says the rest.
Html card_in_lead(const Counterexample& card);
bool is_in_lead(const RunRecord& record, const Counterexample& card);
Html error_histogram(const RunRecord& record, const KernelRecord& kernel);
Html error_quantiles(const RunRecord& record, const KernelRecord& kernel);
Html error_by_length(const RunRecord& record, const KernelRecord& kernel);
Html heat_maps(const RunRecord& record, const KernelRecord& kernel);
Html error_by_magnitude(const RunRecord& record, const KernelRecord& kernel);
Html special_values(const RunRecord& record, const KernelRecord& kernel);
Html coverage_matrix(const RunRecord& record, const KernelRecord& kernel);

}  // namespace plumbline
