// The pipeline's order of work against the other sizes.

#include "spec/job/stage_order.h"
#include "spec/job/vocabulary_order.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

void check_interleaving(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  if (p.pp == 1) return read.refuse("{} needs --pp above 1", read.said(kVpp, p.vpp));
  // torchtitan takes fewer micro batches than stages in one round.
  const bool one_round =
      job.training.framework == Framework::kTorchFsdp && job.micro_batches() == p.microbatch_group;
  if (p.microbatch_group < p.pp && !one_round)
    return read.refuse(
        "{} is less than the {} pipeline stages",
        read.said("microbatch_group_size_per_virtual_pipeline_stage", p.microbatch_group), p.pp);
  const int64_t unit = job.training.micro_batch * p.dp * p.microbatch_group;
  if (job.training.global_batch % (job.training.micro_batch * p.dp) != 0) return;
  // As Megatron-Core: the last group may be smaller, but not than the stages.
  const int64_t batches = job.micro_batches(), rest = batches % p.microbatch_group;
  if (batches < p.microbatch_group || (rest > 0 && rest < p.pp))
    read.refuse("{} makes {} micro batches, not a multiple of {}{} as interleaving needs; try {}",
                read.said("global_batch_size", job.training.global_batch), batches,
                p.microbatch_group,
                p.microbatch_group == p.pp ? " pipeline stages" : " (the micro batch group)",
                (job.training.global_batch / unit + 1) * unit);
}

/// Two chunks in the form of a V: the first stage holds both ends of the model.
void check_v(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  if (p.first_stage_layers > 0 || p.last_stage_layers > 0)
    return read.refuse(
        "{} has both ends of the model on the first stage; take --stage-layers for uneven ones",
        read.said("schedule"));
  const int64_t least = least_micro_batches(p.schedule, p.pp),
                unit = job.training.micro_batch * p.dp;
  if (job.training.global_batch % unit == 0 && job.micro_batches() < least)
    read.refuse("{} makes {} micro batches; {} needs two for every stage, try {}",
                read.said(kGbs, job.training.global_batch), job.micro_batches(),
                read.said("schedule"), least * unit);
}

/// A file's order of work is that of one pipeline and one number of micro batches.
void check_schedule_file(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const std::string where = read.where(kScheduleFile);
  if (job.is_inference()) return read.refuse("{}: inference has no backward", where);
  if (std::ssize(p.order.stages) != p.pp)
    return read.refuse("{} has {} stages; {} has {}", where, p.order.stages.size(), read.said(kPp),
                       p.pp);
  const int64_t batches = micro_batches_of(p.order), chunks = chunks_of(p.order);
  if (chunks != p.vpp)
    return read.refuse("{} has {} chunk{} a stage; {} has {}", where, chunks,
                       chunks == 1 ? "" : "s", read.said(kVpp), p.vpp);
  const int64_t unit = job.training.micro_batch * p.dp;
  if (job.training.global_batch % unit == 0 && job.micro_batches() != batches)
    read.refuse("{} makes {} micro batches; {} has {}, try {}",
                read.said(kGbs, job.training.global_batch), job.micro_batches(), where, batches,
                batches * unit);
}

/// What a vocabulary divided over the stages is defined for.
void check_vocabulary(SettingReader& read, const Job& job) {
  if (const std::string_view why = why_vocabulary_is_whole(job); !why.empty())
    read.refuse("{} {}", read.said("vocabulary_parallel"), why);
}

/// What stages trained apart are defined for.
void check_stage_training(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const auto refuse = [&](std::string_view what) {
    read.refuse("{} {}", read.said("stage_training"), what);
  };
  if (p.pp == 1) return refuse("needs --pp above 1");
  if (p.schedule != Schedule::kOneFOneB) return refuse("needs --schedule 1f1b");
  if (!p.order.stages.empty()) return refuse("has an order of its own; leave out the file");
  if (p.divides_vocabulary())
    return refuse("needs a head on one stage: --vocabulary-parallel none");
  if (job.training.mode != Mode::kPretrain) return refuse("is for pre-training alone");
  if (job.model.vision != nullptr) return refuse("is not defined with a vision tower");
  if (job.model.mtp_layers > 0) return refuse("is not defined with multi-token prediction");
}

}  // namespace

void check_schedule(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const bool has_file = !p.order.stages.empty();
  if (p.schedule == Schedule::kFile && !has_file)
    return read.refuse("{} needs --schedule-file", read.said("schedule"));
  if (p.vpp > 1 && p.schedule != Schedule::kFile && suits(p.schedule, 1))
    return read.refuse("{} runs one chunk a stage; {} needs --schedule interleaved",
                       read.said("schedule"), read.said(kVpp, p.vpp));
  if (p.pp == 1 && p.schedule != Schedule::kInterleaved && !suits(p.schedule, 1))
    return read.refuse("{} needs --pp above 1", read.said("schedule"));
  if (!suits(p.schedule, p.vpp))
    return read.refuse("{} needs --vpp {}", read.said("schedule"),
                       suits(p.schedule, 3) ? "above 1" : "2");
  if (has_file) check_schedule_file(read, job);
  if (p.divides_vocabulary()) check_vocabulary(read, job);
  if (p.trains_apart()) check_stage_training(read, job);
  if (p.turns()) check_v(read, job);
  if (p.schedule == Schedule::kInterleaved) check_interleaving(read, job);
}

}  // namespace ergometer::spec
