#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "spec/job/sequence_lengths.h"
#include "spec/resolve/resolve.h"

namespace ergometer::spec {
namespace {

/// Tokens of a document on average, roughly.
double usual_document(const SequenceLengths& lengths) {
  if (lengths.kind == LengthKind::kLognormal) return lengths.first;
  if (lengths.kind == LengthKind::kUniform) return (lengths.first + lengths.second) / 2;
  double tokens = 0, documents = 0;
  for (const auto& [length, count] : lengths.counts) {
    tokens += static_cast<double>(length) * static_cast<double>(count);
    documents += static_cast<double>(count);
  }
  return documents > 0 ? tokens / documents : 1;
}

/// Every document of a step is drawn.
void check_documents(SettingReader& read, const Training& t) {
  constexpr double kMostDocuments = 4e6;
  const double length = t.sequence_batching == SequenceBatching::kPacked
                            ? usual_document(t.sequence_lengths)
                            : static_cast<double>(t.seq_length);
  const double documents = static_cast<double>(t.global_batch) *
                           std::max(1.0, static_cast<double>(t.seq_length) / std::max(1.0, length));
  if (documents > kMostDocuments)
    read.refuse(
        "{}: a step holds about {:.0f} documents; up to {:.0f} are drawn, try a smaller --gbs",
        read.said("sequence_lengths"), documents, kMostDocuments);
}

}  // namespace

void resolve_sequences(SettingReader& read, Job& job) {
  constexpr std::string_view kName = "sequence_lengths";
  const std::string text = read.text(kName);
  if (text.empty()) return read.derive(kName, "every document fills its sequence");
  auto lengths = parse_sequence_lengths(text);
  if (lengths)
    job.training.sequence_lengths = std::move(*lengths);
  else
    read.refuse("{}: {}", read.where(kName), lengths.error().message);
}

void check_sequences(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  if (t.sequence_lengths.is_even()) {
    for (const char* name : {"sequence_batching", "sequence_order", "shuffle"})
      if (read.given(name)) return read.refuse("{} needs --sequence-lengths", read.said(name));
    return;
  }
  const auto refuse = [&](std::string_view why) {
    read.refuse("{}: {}", read.said("sequence_lengths"), why);
  };
  if (job.is_inference()) return refuse("inference has no documents; it needs --mode pretrain");
  if (t.packed_mean_length > 0)
    return refuse(fmt::format("contradicts {}", read.said("packed_mean_length")));
  if (!is_fused(t.attention))
    return refuse(
        "attention of one kernel an operation knows no documents; it needs flash attention");
  if (!t.moe_routing.is_even())
    return refuse(fmt::format("unlike documents and {} are not modelled at once; leave one out",
                              read.said("moe_routing")));
  check_documents(read, t);
}

}  // namespace ergometer::spec
