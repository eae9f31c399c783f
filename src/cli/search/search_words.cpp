#include "cli/search/search_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/collection.h"
#include "base/table.h"
#include "plan/stages.h"
#include "run/labels.h"
#include "run/row_columns.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"

namespace ergometer::cli {

std::string sharding_word(const spec::Job& job) {
  return job.parallelism.fsdp ? "fsdp" : fmt::format("zero {}", job.parallelism.zero_stage);
}

std::string recompute_word(const spec::Job& job) {
  const spec::Training& t = job.training;
  if (t.recompute == spec::Recompute::kNone) return "-";
  if (t.recompute == spec::Recompute::kSelective)
    return fmt::format("{}", fmt::join(t.recompute_modules, "+"));
  return t.recompute_method == spec::RecomputeMethod::kBlock
             ? fmt::format("block {}", t.recompute_layers)
             : "full";
}

std::string overlap_word(const spec::Job& job) {
  const spec::Training& t = job.training;
  std::vector<std::string_view> words;
  if (t.overlap_grad_reduce) words.push_back("grad");
  if (t.overlap_param_gather) words.push_back("param");
  if (t.overlap_tp) words.push_back("tp");
  if (t.overlap_p2p) words.push_back("p2p");
  if (t.overlap_expert_parallel) words.push_back("ep");
  if (t.moe_shared_overlap) words.push_back("shared");
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, "+"));
}

/// "7,8x14,7": what repeats itself, once.
std::string with_counts(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0, next = 0; i < words.size(); i = next) {
    while (next < words.size() && words[next] == words[i]) ++next;
    text += fmt::format("{}{}{}", i > 0 ? "," : "", words[i],
                        next - i > 1 ? fmt::format("x{}", next - i) : "");
  }
  return text;
}

char group_letter(size_t group) { return static_cast<char>('A' + std::min<size_t>(group, 25)); }

/// " A 6 B 10": micro batches of replicas on unlike nodes.
std::string batches_word(const spec::Job& job) {
  std::string text;
  const std::vector<int64_t>& batches = job.parallelism.group_micro_batches;
  for (size_t group = 0; group < batches.size(); ++group)
    if (batches[group] > 0) text += fmt::format(" {} {}", group_letter(group), batches[group]);
  return text.empty() ? text : "," + text;
}

/// " (7,8x14,7)": the layers of stages that do not all have as many.
std::string stages_word(const spec::Job& job) {
  const std::vector<int64_t> chunks = plan::layers_per_chunk(job);
  const auto count = static_cast<size_t>(job.parallelism.pp);
  std::vector<int64_t> stages(count);
  for (size_t i = 0; i < chunks.size(); ++i) stages[i % count] += chunks[i];
  if (std::ranges::adjacent_find(stages, std::not_equal_to<>()) == stages.end()) return {};
  return fmt::format(
      " ({})", with_counts(base::mapped(stages, [](int64_t n) { return std::to_string(n); })));
}

std::string layout_word(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  std::string text = fmt::format("tp {}", p.tp);
  if (p.tp > 1 && !p.sequence_parallel) text += " (no sp)";
  if (p.cp > 1) text += fmt::format(" cp {}", p.cp);
  if (p.pp > 1) text += fmt::format(" pp {}", p.pp);
  if (p.vpp > 1) text += fmt::format(" vpp {}", p.vpp);
  text += stages_word(job);
  if (p.schedule == spec::Schedule::kGpipe) text += " gpipe";
  if (p.schedule == spec::Schedule::kZbH1) text += " zb-h1";
  if (job.model.experts.count > 0) {
    text += fmt::format(" ep {}", p.ep);
    if (p.etp != p.tp) text += fmt::format(" etp {}", p.etp);
  }
  return text + fmt::format(" dp {} mbs {}", p.dp, job.training.micro_batch) + batches_word(job);
}

std::string nodes_word(const spec::Job& job) {
  std::vector<std::string> stages;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage) {
    std::string& text = stages.emplace_back();
    for (const size_t group : spec::groups_of_stage(job, stage)) text += group_letter(group);
  }
  return with_counts(stages);
}

std::string letters_word(const spec::Cluster& cluster) {
  std::string text;
  for (size_t group = 0; group < cluster.groups.size(); ++group)
    text += fmt::format("{}{} {} x {}", text.empty() ? "" : ", ", group_letter(group),
                        cluster.groups[group].nodes, cluster.groups[group].node.name);
  return text;
}

std::string table(const std::vector<Row>& rows, size_t left, const report::TextStyle& style) {
  std::string layout = ">";
  for (size_t i = 1; i < rows.front().cells.size(); ++i) layout += i <= left ? " <" : " >";
  base::Table table(layout);
  for (const Row& row : rows) table.add(row.cells);
  return report::table_text(table, style);
}

std::vector<std::string> named_titles(const Named& named) {
  std::vector<std::string> titles;
  if (named.gpus) titles.push_back("GPUs");
  if (named.precision) titles.push_back("precision");
  if (named.nodes) titles.push_back("nodes");
  if (named.clock) titles.push_back("clock");
  return titles;
}

std::vector<std::string> named_cells(const Named& named, const spec::Job& job) {
  constexpr double kMega = 1e6;
  const double lock_hz = job.conditions.lock_clock_hz;
  std::vector<std::string> cells;
  if (named.gpus) cells.push_back(fmt::format("{}", job.gpus));
  if (named.precision) cells.emplace_back(to_word(job.training.precision));
  if (named.nodes) cells.push_back(nodes_word(job));
  if (named.clock)
    cells.push_back(lock_hz > 0 ? fmt::format("{:.0f} MHz", lock_hz / kMega) : "unlocked");
  return cells;
}

std::string whole_word(const spec::Job& job, const Named& named) {
  std::string text = layout_word(job) + ", " + sharding_word(job);
  if (recompute_word(job) != "-") text += ", recompute " + recompute_word(job);
  if (overlap_word(job) != "-") text += ", overlap " + overlap_word(job);
  if (named.gpus) text += fmt::format(", {} GPUs", job.gpus);
  if (named.nodes) text += ", on " + nodes_word(job);
  for (const std::string& word : named_cells({false, named.precision, named.clock, false}, job))
    text += ", " + word;
  return text;
}

std::vector<std::pair<std::string_view, double>> parts_of(const run::Performance& performance) {
  std::vector<std::pair<std::string_view, double>> parts;
  run::kBreakdownColumns.for_each([&](std::string_view name, auto part) {
    parts.emplace_back(run::label_of(name), performance.breakdown_s.*part);
  });
  return parts;
}

}  // namespace ergometer::cli
