// The sizes of groups and batches: what the row says, and what follows from it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/settings/setting_names.h"
#include "validation/rows/job_draft.h"

namespace ergometer::validation {
namespace {

using spec::kCp;
using spec::kGbs;
using spec::kMbs;
using spec::kPp;
using spec::kTp;

/// Blank and 0 both mean that nothing is said.
void take_positive(JobDraft& draft, std::string_view setting, std::string_view column) {
  if (const auto number = draft.whole(column); number && *number > 0)
    draft.say(setting, fmt::format("{}", *number), column);
}

/// "model-parallel size (tp*pp) = 96": by tensors over the GPUs of a node (eight where the
/// row does not say), then by stages.
void take_product(JobDraft& draft) {
  constexpr std::string_view kWords = "model-parallel size (tp*pp) = ";
  const std::string_view notes = draft.cell("notes");
  const size_t at = notes.find(kWords);
  if (at == notes.npos) return;
  const std::string_view rest = notes.substr(at + kWords.size());
  const auto ranks = base::parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!ranks || *ranks < 1) return;
  const int64_t node =
      std::max<int64_t>(1, base::parse_integer(draft.cell("gpus_per_node")).value_or(8));
  const int64_t tp = *ranks % node == 0 ? node : 1;
  draft.say(kTp, fmt::format("{}", tp), "notes");
  draft.say(kPp, fmt::format("{}", *ranks / tp), "notes");
}

/// gpus / (tp x cp x pp), one after the other: their product may be beyond 64 bits.
int64_t replicas(const JobDraft& draft) {
  return draft.number("gpus", 1) / draft.number(kTp, 1) / draft.number(kCp, 1) /
         draft.number(kPp, 1);
}

void fill_batch(JobDraft& draft, int64_t dp) {
  const int64_t steps = draft.whole("grad_accum").value_or(0);
  const int64_t batch = draft.number(kGbs, 0);
  constexpr int64_t kMostBatch = 1'000'000'000;
  const int64_t micro = draft.number(kMbs, 1);
  if (steps > kMostBatch / micro / dp) return;
  if (batch == 0 && steps > 0)
    return draft.fill(kGbs, fmt::format("{}", steps * micro * dp), "grad_accum x mbs x dp");
  if (batch == 0) return;
  if (!draft.has(kMbs) && steps > 0 && batch % (steps * dp) == 0)
    draft.fill(kMbs, fmt::format("{}", batch / (steps * dp)), "gbs / (grad_accum x dp)");
}

/// Rows of rates alone say nothing of batches. Small models are trained with what fills a GPU,
/// about 16,384 tokens, and with batches of half a million, as GPT-3's smallest; Megatron-LM's
/// default of one sequence is for large ones.
void fill_unknown_batch(JobDraft& draft, int64_t dp) {
  constexpr int64_t kMicroTokens = 16'384, kBatchTokens = 524'288, kShortest = 128;
  const bool megatron =
      contains(draft.cell("framework"), "egatron") || contains(draft.cell("framework"), "NeMo");
  const int64_t seq = draft.number("seq_length", 2048);
  if (megatron || draft.cell("framework").empty() || dp <= 0 || draft.has(kMbs) ||
      draft.has(kGbs) || seq < kShortest)
    return;
  int64_t micro = 1;
  while (2 * micro <= kMicroTokens / seq) micro *= 2;
  const int64_t replicated = dp * micro;
  const int64_t steps = std::max<int64_t>(1, kBatchTokens / seq / replicated);
  draft.fill(kMbs, fmt::format("{}", micro), "blank: about 16,384 tokens");
  draft.fill(kGbs, fmt::format("{}", steps * replicated), "blank: about 524,288 tokens");
}

/// More replicas than sequences: the row leaves a split out. Sequences are what remains to split;
/// where the row rules that out and its rate is one of FLOPs, a larger batch takes as long a
/// sequence. MLPerf's layouts are those of a file that may be another system's, the accumulation is
/// the run's own.
void mend_replicas(JobDraft& draft) {
  constexpr int64_t kMostSplit = 64;
  const int64_t batch = draft.number(kGbs, 0);
  const bool mlperf = draft.source_has("MLPerf");
  int64_t cp = draft.number(kCp, 1);
  const int64_t shared = draft.number("gpus", 1) / draft.number(kTp, 1) / draft.number(kPp, 1);
  const int64_t steps = mlperf ? std::max<int64_t>(1, draft.whole("grad_accum").value_or(1)) : 1;
  // A row that does not say how tensors are split leaves that to the recipe.
  if (!draft.has(kTp) || batch == 0 || replicas(draft) == 0 || batch / steps >= replicas(draft))
    return;
  if (!draft.has(kCp) || mlperf) {
    while (cp < kMostSplit && batch / steps < replicas(draft) && shared % (cp * 2) == 0)
      draft.correct(kCp, fmt::format("{}", cp *= 2),
                    "fewer sequences than there would be replicas");
  } else if (draft.cell("step_time_s").empty() && !draft.cell("tflops_per_gpu").empty()) {
    draft.correct(kGbs, fmt::format("{}", replicas(draft) * draft.number(kMbs, 1)),
                  "the row's is smaller than its number of replicas; its rate is of FLOPs");
  }
}

/// The largest micro batch, at most what the row says, that divides a replica's part of the batch.
void mend_micro_batch(JobDraft& draft, int64_t dp) {
  const int64_t batch = draft.number(kGbs, 0), micro = draft.number(kMbs, 1);
  if (batch == 0 || dp == 0 || batch % dp != 0 || batch / dp % micro == 0) return;
  int64_t size = std::min(micro, batch / dp);
  while (batch / dp % size != 0) --size;
  draft.correct(kMbs, fmt::format("{}", size), "the row's does not divide gbs / dp");
}

}  // namespace

void take_sizes(JobDraft& draft) {
  take_positive(draft, "gpus", "gpus");
  take_positive(draft, kTp, "tp");
  take_positive(draft, kCp, "cp");
  take_positive(draft, kPp, "pp");
  take_product(draft);
  take_positive(draft, "virtual_pipeline_model_parallel_size", "vpp");
  take_positive(draft, "expert_model_parallel_size", "ep");
  take_positive(draft, "expert_tensor_parallel_size", "etp");
  take_positive(draft, kMbs, "mbs");
  take_positive(draft, kGbs, "gbs");
  take_positive(draft, "seq_length", "seq");
  if (!draft.has("gpus")) draft.refuse("gpus: blank; a prediction needs the number of GPUs");
}

void fill_sizes(JobDraft& draft) {
  const int64_t dp = replicas(draft);
  if (const auto said = draft.whole("dp"); said && *said > 0 && *said != dp && dp > 0)
    draft.fills().push_back({"data_parallel_size", fmt::format("{}", dp),
                             fmt::format("gpus / (tp x cp x pp); the row says {}", *said)});
  if (draft.number("expert_model_parallel_size", 1) > 1)
    draft.fill("expert_tensor_parallel_size", "1", "experts are not split with expert parallelism");
  if (dp > 0) fill_batch(draft, dp);
  fill_unknown_batch(draft, dp);
  mend_replicas(draft);
  if (const int64_t replicated = replicas(draft); replicated > 0)
    mend_micro_batch(draft, replicated);
}

}  // namespace ergometer::validation
