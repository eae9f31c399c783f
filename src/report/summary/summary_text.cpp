#include "report/summary/summary_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/table.h"
#include "base/text.h"
#include "report/colours.h"
#include "report/format.h"
#include "report/summary/documents_text.h"
#include "report/summary/fit_text.h"
#include "report/summary/given_collectives.h"
#include "report/summary/job_view.h"
#include "report/summary/power_text.h"
#include "run/labels.h"
#include "run/link_kinds.h"
#include "run/row_columns.h"

namespace ergometer::report {
namespace {

constexpr std::string_view kBad = sgr_of("bad");
constexpr int kBarWidth = 34;
constexpr int kMemoryBarWidth = 44;

std::string repeat(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

// --- what ran

std::string job_line(const JobView& job) {
  std::string line = job.model;
  if (job.parameters > 0) {
    line += fmt::format(" ({} parameters", format_parameters(job.parameters));
    const bool sparse = job.active_parameters > 0 && job.active_parameters < job.parameters;
    line += sparse ? fmt::format(", {} active)", format_parameters(job.active_parameters)) : ")";
  }
  if (job.gpus > 0) {
    line += fmt::format(" on {} x {}", job.gpus, job.gpu);
    line += fmt::format(", {} ({})", job.cluster, counted(job.nodes, "node"));
  }
  return line;
}

std::string layout_line(const JobView& job) {
  std::vector<std::string> words;
  const auto degree = [&](std::string_view name, int64_t value) {
    if (value > 1) words.push_back(fmt::format("{} {}", name, value));
  };
  degree("TP", job.tp);
  degree("CP", job.cp);
  degree("PP", job.pp);
  degree("VPP", job.vpp);
  degree("EP", job.ep);
  words.push_back(fmt::format("DP {}", std::max<int64_t>(job.dp, 1)));
  if (job.sequence_parallel) words.emplace_back("SP");
  if (job.fsdp && job.fsdp_shard_size > 0)
    words.push_back(fmt::format("FSDP over {} ranks", job.fsdp_shard_size));
  else if (job.fsdp)
    words.emplace_back("FSDP");
  if (!job.fsdp && (job.mode == "pretrain" || (job.mode == "lora" && job.zero > 0)))
    words.push_back(fmt::format("ZeRO {}", job.zero));
  if (job.pp > 1 && job.mode != "prefill" && job.mode != "decode") words.push_back(job.schedule);
  if (!job.vocabulary.empty() && job.vocabulary != "none")
    words.push_back("vocabulary " + job.vocabulary);
  if (!job.stage_training.empty())
    words.push_back(fmt::format("stages trained apart ({})", job.stage_training));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Which layers full recomputation computes again, where it is said how many.
std::string recomputed_layers(const JobView& job) {
  if (job.recompute != "full" || job.recompute_layers == 0) return "";
  if (job.recompute_method == "block")
    return fmt::format(" of {} of every chunk (block)", counted(job.recompute_layers, "layer"));
  return job.recompute_layers == 1
             ? ""
             : fmt::format(" (uniform, a checkpoint every {} layers)", job.recompute_layers);
}

std::string training_line(const JobView& job) {
  std::vector<std::string> words;
  if (job.mode == "lora")
    words.push_back(fmt::format("LoRA rank {}{}", job.lora_rank,
                                job.quantize.empty() ? "" : " on weights in " + job.quantize));
  if (job.mode == "prefill" || job.mode == "decode") words.push_back(job.mode);
  words.push_back(fmt::format("micro batch {}", job.micro_batch));
  words.push_back(fmt::format("global batch {}", job.global_batch));
  words.push_back(fmt::format("sequence {}", job.seq_length));
  if (job.packed_mean_length > 0)
    words.back() += fmt::format(" of documents of {}", job.packed_mean_length);
  if (job.generate_tokens > 0) words.push_back(fmt::format("generate {}", job.generate_tokens));
  words.push_back(job.precision + (job.masterless ? " throughout" : ""));
  if (!job.optimizer_moments.empty() && !(job.masterless && job.optimizer_moments == "bf16"))
    words.push_back(job.optimizer_moments + " moments");
  if (!job.recompute.empty() && job.recompute != "none")
    words.push_back(job.recompute + " recomputation" + recomputed_layers(job));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string frozen_text(const JobView& job) {
  return job.frozen.empty() ? "" : fmt::format("; frozen: {}", fmt::join(job.frozen, ", "));
}

std::string left_out_text(const JobView& job) {
  if (job.images_left_out < 0.005) return {};
  return fmt::format("; {:.0f} % of them do not fit into a sequence whole and are left out",
                     100 * job.images_left_out);
}

/// Of a model with a vision tower: what a sample shows it, and what is not trained.
std::string images_line(const JobView& job) {
  const std::string each = fmt::format("{} and {} tokens each",
                                       counted(job.tiles_per_image, "tile"), job.tokens_per_image);
  if (job.images == 0)
    return fmt::format("images as samples have them, {}{}{}", each, left_out_text(job),
                       frozen_text(job));
  return fmt::format("{} a sample, {}{}", counted(job.images, "image"), each, frozen_text(job));
}

/// What a step without a batch of anybody's is, and what the least one costs.
std::string batch_line(const run::Run& run, const JobView& job) {
  const std::string_view least = "no batch was given (--gbs): the least is taken";
  const std::string bubble = format_share(run.performance.pipeline_bubble_fraction);
  if (job.pp > 1)
    return fmt::format("{}, whose {} micro batches leave a bubble of {}; more shrink it", least,
                       job.micro_batches, bubble);
  return fmt::format(
      "{}, one micro batch a replica: {} most", least,
      job.dp > 1 ? "reducing gradients and the optimizer weigh" : "the optimizer weighs");
}

std::string vendors_line(const JobView& job) {
  return fmt::format(
      "GPUs of {} in one job: neither NCCL nor RCCL runs between them, so that collectives and "
      "pipeline transfers are priced as if a library did",
      fmt::join(job.vendors, " and "));
}

std::string header(const run::Run& run, const JobView& job, const TextStyle& style) {
  std::string out;
  const auto line = [&](std::string_view sgr, const std::string& text) {
    out += paint(style, sgr, wrap(text, kWidth, 0)) + '\n';
  };
  if (!job.model.empty()) {
    line(kBold, job_line(job));
    line(kDim, layout_line(job));
    line(kDim, training_line(job));
    if (job.tokens_per_image > 0) line(kDim, images_line(job));
    if (job.least_batch && (job.mode == "pretrain" || job.mode == "lora"))
      line(kDim, batch_line(run, job));
    if (!job.recipe.empty()) line(kDim, recipe_words(job));
    if (job.vendors.size() > 1) line(kBad, vendors_line(job));
    if (!job.conditions.empty()) line(kDim, fmt::format("{}", fmt::join(job.conditions, ", ")));
  }
  if (run.source != "simulated") out += fmt::format("({} Run)\n", run.source);
  if (const std::string unfit = unfit_text(run.memory, style); !unfit.empty()) out += '\n' + unfit;
  if (run.thermal.shutdown_gpus > 0) {
    out += '\n';
    line(kBad, run.thermal.limit);
    out += "The times below are those of the job if it did.\n";
  }
  return out;
}

// --- how fast

/// The 90 % interval and why it is so wide; nothing for a measured step.
std::string interval_line(const run::Performance& p) {
  if (p.step_time_s_high <= p.step_time_s_low) return "";
  std::string line = fmt::format("{} to {} (90 %)", base::format_seconds(p.step_time_s_low),
                                 base::format_seconds(p.step_time_s_high));
  for (size_t i = 0; i < p.interval_reasons.size(); ++i)
    line += (i == 0 ? ": " : "; ") + p.interval_reasons[i];
  return "Interval    " + wrap(line, 80, 12) + '\n';
}

std::string headline(const run::Run& run, const JobView& job, const TextStyle& style) {
  const run::Performance& p = run.performance;
  std::string out =
      fmt::format("Step time   {}",
                  paint(style, kBold, fmt::format("{:<14}", base::format_seconds(p.step_time_s))));
  out +=
      fmt::format("Tokens/s  {} ({} per GPU)\n", base::format_count(std::llround(p.tokens_per_s)),
                  base::format_count(std::llround(p.tokens_per_s_per_gpu)));
  out += interval_line(p);
  out += fmt::format("MFU         {}",
                     paint(style, kBold, fmt::format("{:<14}", format_share(p.mfu))));
  out += fmt::format("TFLOP/s   {:.1f} per GPU", p.model_tflops_per_gpu);
  if (p.hardware_tflops_per_gpu > p.model_tflops_per_gpu * 1.0001)
    out += fmt::format(" ({:.1f} with {})", p.hardware_tflops_per_gpu,
                       job.recompute == "none" ? "padding" : "recomputation");
  out += '\n';
  if (job.pp > 1)
    out += fmt::format("Bubble      {} of the step\n", format_share(p.pipeline_bubble_fraction));
  for (const std::string& use : given_collectives(run))
    out += "Collectives " + wrap(use, 80, 12) + '\n';
  return out;
}

// --- where the step goes

std::string bar(const TextStyle& style, std::string_view sgr, double fraction, int width) {
  const int filled = std::clamp(static_cast<int>(std::floor(fraction * width + 0.5)), 0, width);
  const std::string_view full = style.unicode ? "\u2588" : "#",
                         rest = style.unicode ? "\u00b7" : ".";
  return paint(style, sgr, repeat(full, filled)) + paint(style, kDim, repeat(rest, width - filled));
}

std::string breakdown(const run::Run& run, const TextStyle& style) {
  const double step = run.performance.step_time_s;
  std::string out =
      heading(style, "Where the step goes (mean over ranks; communication: the exposed part)");
  run::kBreakdownColumns.for_each([&](std::string_view name, auto member) {
    const double seconds = run.performance.breakdown_s.*member;
    const double share = step > 0 ? seconds / step : 0;
    if (share < 0.0005) return;  // would read 0.0 %
    out += fmt::format("  {:<16}{}{:>12}{:>9}\n", run::label_of(name),
                       bar(style, sgr_of(name), share, kBarWidth), base::format_seconds(seconds),
                       format_share(share));
  });
  return out;
}

// --- memory

struct Segment {
  std::string_view name, sgr, block, letter;
  double bytes;
};

std::array<Segment, 5> memory_segments(const run::Memory& m) {
  return {{{"weights", sgr_of("weights"), "\u2588", "W", m.weights_bytes},
           {"gradients", sgr_of("gradients"), "\u2593", "G", m.gradients_bytes},
           {"optimizer", sgr_of("optimizer"), "\u2592", "O", m.optimizer_bytes},
           {"activations", sgr_of("activations"), "\u2591", "A", m.activations_bytes},
           {"other", sgr_of("other"), "\u25a0", "x", m.other_bytes}}};
}

/// One bar over the larger of need and capacity. Cells are given by rounding the running sum, so
/// that they add up.
std::string memory_bar(const run::Memory& m, const TextStyle& style) {
  const double full = std::max(m.capacity_bytes, m.peak_bytes);
  if (full <= 0) return {};
  std::string out;
  double sum = 0;
  int drawn = 0;
  for (const Segment& segment : memory_segments(m)) {
    sum += segment.bytes;
    const int end = std::clamp(static_cast<int>(std::floor(sum / full * kMemoryBarWidth + 0.5)),
                               drawn, kMemoryBarWidth);
    out += paint(style, segment.sgr,
                 repeat(style.unicode ? segment.block : segment.letter, end - drawn));
    drawn = end;
  }
  return out + paint(style, kDim, repeat(style.unicode ? "\u00b7" : ".", kMemoryBarWidth - drawn));
}

std::string memory(const run::Run& run, const TextStyle& style) {
  const run::Memory& m = run.memory;
  std::string out = heading(style, "Memory");
  std::string need =
      fmt::format("{:.1f} of {:.1f} GiB", m.peak_bytes / kGib, m.capacity_bytes / kGib);
  if (m.stages.size() > 1) need += fmt::format(" on stage {}", m.worst_stage);
  out += fmt::format("  {}  {}\n", memory_bar(m, style), m.fits ? need : paint(style, kBad, need));
  std::string parts;
  size_t column = 0;
  for (const Segment& s : memory_segments(m)) {
    if (s.bytes <= 0) continue;
    const std::string size = fmt::format("{} {:.1f}", s.name, s.bytes / kGib);
    constexpr size_t kGap = 2, kMark = 2;
    const bool wraps = column > 0 && column + kGap + kMark + size.size() > 78;
    if (column > 0) parts += wraps ? "\n  " : "  ";
    column = (wraps || column == 0 ? 0 : column + kGap) + kMark + size.size();
    parts += fmt::format("{} {}", paint(style, s.sgr, style.unicode ? s.block : s.letter), size);
  }
  return out + "  " + parts + "\n  " + fit_line(m, style) + '\n';
}

// --- experts

std::string experts(const run::Run& run, const TextStyle& style) {
  if (run.experts.empty()) return {};
  base::Table table("<36 >7 >7 >9 >11 >10");
  table.row("Experts: the fullest rank of a layer", "mean", "most", "dropped", "step", "memory");
  for (const run::ExpertRow& row : run.experts)
    table.row("  " + shortened(row.setting, 34), fmt::format("{:.2f}", row.mean_load),
              fmt::format("{:.2f}", row.most_load),
              row.dropped_fraction > 0 ? format_share(row.dropped_fraction) : "-",
              base::format_seconds(row.step_time_s), format_gib(row.peak_memory_bytes));
  return table_text(table, style, 1);
}

// --- GPUs of several kinds

std::string gpu_kinds(const run::Run& run, const TextStyle& style) {
  if (run.gpu_kinds.empty()) return {};
  base::Table table("<24 >6 >13 >9 >10 >10 >10");
  table.row("GPUs, time of a step", "GPUs", "ranks", "stages", "compute", "exposed", "idle");
  for (const run::GpuKind& row : run.gpu_kinds)
    table.row("  " + shortened(row.gpu, 22), fmt::format("{}", row.gpus), shortened(row.ranks, 13),
              shortened(row.stages, 9), base::format_seconds(row.compute_s),
              base::format_seconds(row.communication_s), base::format_seconds(row.idle_s));
  return table_text(table, style, 1);
}

// --- links

std::string links(const run::Run& run, const JobView& job, const TextStyle& style) {
  if (run.links.empty()) return {};
  std::string out = heading(style, fmt::format("{:<8}{:>16}{:>24}{:>16}{:>14}", "Links",
                                               "job, per step", "mean", "peak", "of line rate"));
  for (const run::Link& link : run.links) {
    const std::string_view per = run::joins_switches(link.kind) ? "fullest"
                                 : link.kind == "nic"           ? "per NIC"
                                                                : "per GPU";
    const std::string total = base::format_bytes(link.bytes_per_step);
    out +=
        fmt::format("  {:<8}{:>14}{:>10}{:>14}{:>16}{:>14}\n", link.kind, total, per,
                    fmt::format("{:.1f} GB/s", link.mean_gb_per_s),
                    fmt::format("{:.1f} GB/s", link.peak_gb_per_s), format_share(link.utilization));
  }
  if (!job.pcie.empty()) out += note(style, job.pcie);
  if (!job.wiring.empty()) out += note(style, job.wiring);
  return out;
}

std::string limiter_line(const run::Run& run, const TextStyle& style) {
  if (run.limiter.empty()) return {};
  return paint(style, kBold, "Limited by") + "  " + wrap(run.limiter, kWidth, 12) + '\n';
}

}  // namespace

std::string paint(const TextStyle& style, std::string_view sgr, std::string_view text) {
  if (!style.colour || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", sgr, text);
}

std::string heading(const TextStyle& style, std::string_view text) {
  return paint(style, kBold, text) + '\n';
}

std::string table_text(const base::Table& table, const TextStyle& style, size_t keys) {
  std::string out;
  for (const std::vector<std::string>& block : table.blocks(style.width, keys)) {
    if (!out.empty()) out += '\n';
    for (size_t i = 0; i < block.size(); ++i)
      out += i == 0 ? heading(style, block[i]) : block[i] + '\n';
  }
  return out;
}

std::string note(const TextStyle& style, std::string_view text) {
  return paint(style, kDim, "  " + wrap(text, kWidth, 2)) + '\n';
}

std::string paragraph(std::string_view text) { return "  " + wrap(text, kWidth, 2) + '\n'; }

std::string sections(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : "\n") + part;
  return out;
}

std::string more_line(size_t all, size_t shown, std::string_view what) {
  if (all <= shown) return "";
  return fmt::format("  ... and {} more{}{} (all of them: --json)\n", all - shown,
                     what.empty() ? "" : " ", what);
}

std::string shortened(std::string_view name, size_t width) {
  std::string line;
  for (const char c : name) line += c >= ' ' && c <= '~' ? c : '?';
  return base::cut_to(line, width);
}

std::string summary_text(const run::Run& run, const TextStyle& style) {
  const JobView job = view_job(run.job_json);
  return sections({header(run, job, style), headline(run, job, style), breakdown(run, style),
                   memory(run, style), experts(run, style), documents_text(run, style),
                   gpu_kinds(run, style), power_text(run, style), links(run, job, style),
                   limiter_line(run, style)});
}

std::string ranks_text(const run::Run& run, const TextStyle& style) {
  base::Table table(">7 >6 >6 >7 >12 >11 >16 >14");
  table.row("Rank", "node", "slot", "stage", "end", "compute", "communication", "idle");
  for (const run::Rank& rank : run.ranks) {
    const run::Breakdown& b = rank.breakdown_s;
    const double exposed = b.exposed_all_reduce + b.exposed_all_gather + b.exposed_reduce_scatter +
                           b.exposed_all_to_all + b.exposed_send_recv;
    table.row(rank.rank, rank.node, rank.slot, rank.stage, base::format_seconds(rank.end_s),
              base::format_seconds(b.compute + b.optimizer), base::format_seconds(exposed),
              base::format_seconds(b.idle));
  }
  std::string out = table_text(table, style);
  if (const std::string power = rank_power_text(run, style); !power.empty()) out += '\n' + power;
  return out;
}

}  // namespace ergometer::report
