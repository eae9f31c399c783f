#include "spec/settings/schedule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "spec/job/job_words.h"
#include "spec/job/stage_order.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

constexpr size_t kLargestSchedule = 64u << 20;
constexpr size_t kSlotShown = 40;
constexpr std::string_view kLetters = "FBIW";  // of SlotKind, in its order
constexpr std::string_view kBlanks = " \t\r";

std::string slot_text(const ScheduleSlot& slot) {
  const char letter = kLetters[static_cast<size_t>(slot.kind)];
  return slot.chunk == 0 ? fmt::format("{}{}", letter, slot.micro_batch)
                         : fmt::format("{}{}.{}", letter, slot.micro_batch, slot.chunk);
}

std::optional<int32_t> small_number(std::string_view text) {
  constexpr int64_t kMost = 1'000'000;
  const auto number = base::parse_integer(text);
  if (!number || *number < 0 || *number >= kMost) return std::nullopt;
  return static_cast<int32_t>(*number);
}

std::optional<ScheduleSlot> read_slot(std::string_view word) {
  const size_t letter = kLetters.find(word.front()), point = word.find('.');
  if (letter == kLetters.npos) return std::nullopt;
  const auto micro_batch = small_number(word.substr(1, point - 1));
  const auto chunk = point == word.npos ? 0 : small_number(word.substr(point + 1));
  if (!micro_batch || !chunk) return std::nullopt;
  return ScheduleSlot{static_cast<SlotKind>(letter), *micro_batch, *chunk};
}

/// Words of a line, without its comment.
std::vector<std::string_view> words_of_line(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return words;
    const size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// Passes of a micro batch through a chunk that a slot completes, from the first to the last:
/// forward, gradient of the input, gradient of the weights.
constexpr int kPasses = 3;
std::pair<int, int> passes_of(SlotKind kind) {
  switch (kind) {
    case SlotKind::kForward: return {0, 0};
    case SlotKind::kBackward: return {1, 2};
    case SlotKind::kBackwardInput: return {1, 1};
    case SlotKind::kBackwardWeight: break;
  }
  return {2, 2};
}

class ScheduleReader {
 public:
  Result<ScheduleFile> read(std::string_view text) {
    for (number_ = 1; !text.empty(); ++number_) {
      const size_t end = std::min(text.find('\n'), text.size());
      ERGOMETER_TRY(read_line(words_of_line(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (stages().empty())
      return input_error("holds no stage; needed: a line a stage, such as F0 F1 B0 B1");
    for (size_t stage = 0; stage < stages().size(); ++stage) ERGOMETER_TRY(check_whole(stage));
    ERGOMETER_TRY(check_order());
    return std::move(file_);
  }

 private:
  std::vector<std::vector<ScheduleSlot>>& stages() { return file_.order.stages; }

  Result<void> refuse(int64_t line, const std::string& what) const {
    return input_error("line {}: {}", line, what);
  }

  Result<void> read_line(const std::vector<std::string_view>& words) {
    if (words.empty()) return {};
    if (words.front() == "schedule" || words.front() == "placement") return read_heading(words);
    if (std::ssize(stages()) >= kMostRanks)
      return refuse(number_, fmt::format("more than {} stages", kMostRanks));
    lines_.push_back(number_);
    stages().emplace_back();
    for (const std::string_view word : words) {
      const auto slot = read_slot(word);
      if (!slot)
        return refuse(number_, fmt::format("found \"{}\"; allowed: F, B, I or W, a micro batch and "
                                           "a chunk behind a point, such as F0 or B12.1",
                                           word.substr(0, kSlotShown)));
      stages().back().push_back(*slot);
      file_.chunks = std::max<int64_t>(file_.chunks, slot->chunk + 1);
      file_.micro_batches = std::max<int64_t>(file_.micro_batches, slot->micro_batch + 1);
    }
    return {};
  }

  Result<void> read_heading(const std::vector<std::string_view>& words) {
    const std::string_view value = words.size() == 2 ? words[1] : "";
    if (!stages().empty()) return refuse(number_, fmt::format("{} behind a stage", words[0]));
    if (words[0] == "schedule") {
      const std::string_view all = words_of(Schedule{});
      if (index_of(all, value) < 0)
        return refuse(
            number_, fmt::format("schedule \"{}\"; allowed: {}", value.substr(0, kSlotShown), all));
      file_.name = value;
      return {};
    }
    if (value != "v" && value != "loop")
      return refuse(number_,
                    fmt::format("placement \"{}\"; allowed: v, loop", value.substr(0, kSlotShown)));
    file_.order.turns = value == "v";
    return {};
  }

  /// Every pass of every micro batch and chunk once.
  Result<void> check_whole(size_t stage) const {
    std::vector<int64_t> found;
    for (const ScheduleSlot& slot : file_.order.stages[stage]) {
      const auto [first, last] = passes_of(slot.kind);
      for (int pass = first; pass <= last; ++pass)
        found.push_back((int64_t{slot.chunk} * file_.micro_batches + slot.micro_batch) * kPasses +
                        pass);
    }
    std::ranges::sort(found);
    const int64_t all = file_.chunks * file_.micro_batches * kPasses;
    for (int64_t i = 0; i < std::max(all, std::ssize(found)); ++i) {
      const int64_t here = i < std::ssize(found) ? found[static_cast<size_t>(i)] : -1;
      if (here == i) continue;
      const bool twice = i > 0 && here == found[static_cast<size_t>(i - 1)];
      return refuse(lines_[stage], fmt::format("{} {}", pass_text(twice ? here : i),
                                               twice ? "stands twice" : "is missing"));
    }
    return {};
  }

  std::string pass_text(int64_t pass) const {
    const SlotKind kinds[kPasses] = {SlotKind::kForward, SlotKind::kBackwardInput,
                                     SlotKind::kBackwardWeight};
    const int64_t of = pass / kPasses;
    return slot_text({kinds[pass % kPasses], static_cast<int32_t>(of % file_.micro_batches),
                      static_cast<int32_t>(of / file_.micro_batches)});
  }

  /// What a slot waits for: a pass of a part of the model; nothing: it may run at once. Backward
  /// of a part waits for its forward too.
  struct Needed {
    int64_t part = -1;
    int pass = 0;
  };
  std::array<Needed, 2> needed(const ScheduleSlot& slot, int64_t part) const {
    if (slot.kind == SlotKind::kForward) return {Needed{part - 1, 0}, {}};
    if (slot.kind == SlotKind::kBackwardWeight) return {Needed{part, 1}, {}};
    const bool last = part + 1 == shape_.parts();
    return {Needed{part, 0}, Needed{last ? -1 : part + 1, 1}};
  }

  /// Runs all stages until no slot moves. What then stands first on a line waits for ever.
  Result<void> check_order() {
    shape_.pp = std::ssize(stages());
    shape_.vpp = file_.chunks;
    shape_.schedule = Schedule::kFile;
    shape_.order.turns = file_.order.turns;
    const auto index = [this](int64_t part, int64_t micro_batch, int pass) {
      return static_cast<size_t>((part * file_.micro_batches + micro_batch) * kPasses + pass);
    };
    std::vector<bool> done(index(shape_.parts(), 0, 0), false);
    std::vector<size_t> at(stages().size(), 0);
    const auto open = [&](size_t stage) -> std::optional<Needed> {
      const ScheduleSlot& slot = stages()[stage][at[stage]];
      const int64_t part = shape_.part_of(static_cast<int64_t>(stage), slot.chunk);
      for (const Needed& need : needed(slot, part))
        if (need.part >= 0 && !done[index(need.part, slot.micro_batch, need.pass)]) return need;
      return std::nullopt;
    };
    const auto runs = [&](size_t stage) {
      return at[stage] < stages()[stage].size() && !open(stage);
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < at.size(); ++stage)
        for (; runs(stage); ++at[stage], moved = true) {
          const ScheduleSlot& slot = stages()[stage][at[stage]];
          const auto [first, last] = passes_of(slot.kind);
          const int64_t part = shape_.part_of(static_cast<int64_t>(stage), slot.chunk);
          for (int pass = first; pass <= last; ++pass)
            done[index(part, slot.micro_batch, pass)] = true;
        }
    }
    for (size_t stage = 0; stage < at.size(); ++stage)
      if (at[stage] < stages()[stage].size())
        return refuse(lines_[stage], waits_text(stages()[stage][at[stage]], *open(stage)));
    return {};
  }

  std::string waits_text(const ScheduleSlot& slot, const Needed& need) const {
    const int64_t stage = shape_.stage_of(need.part);
    const SlotKind kind = need.pass == 0 ? SlotKind::kForward : SlotKind::kBackwardInput;
    return fmt::format(
        "{} waits for ever for {} of line {}", slot_text(slot),
        slot_text({kind, slot.micro_batch, static_cast<int32_t>(need.part / shape_.pp)}),
        lines_[static_cast<size_t>(stage)]);
  }

  ScheduleFile file_;
  std::vector<int64_t> lines_;  ///< by stage
  int64_t number_ = 0;
  Parallelism shape_;
};

}  // namespace

Result<ScheduleFile> parse_schedule(std::string_view text) { return ScheduleReader().read(text); }

Result<std::string> schedule_file_text(const std::string& value) {
  if (value.find('\n') != value.npos) return value;
  return base::read_file(value, kLargestSchedule);
}

PipelineOrder pipeline_order(const Parallelism& parallel, int64_t micro_batches) {
  PipelineOrder order{.stages = {}, .turns = parallel.turns()};
  for (int64_t stage = 0; stage < parallel.pp; ++stage)
    order.stages.push_back(stage_order(parallel, stage, micro_batches));
  return order;
}

std::string schedule_text(const PipelineOrder& order, std::string_view name) {
  std::string text = fmt::format("schedule {}\nplacement {}\n", name, order.turns ? "v" : "loop");
  for (const std::vector<ScheduleSlot>& stage : order.stages) {
    for (size_t i = 0; i < stage.size(); ++i) {
      if (i > 0) text += ' ';
      text += slot_text(stage[i]);
    }
    text += '\n';
  }
  return text;
}

int64_t micro_batches_of(const PipelineOrder& order) {
  if (order.stages.empty()) return 0;
  return std::ranges::count_if(order.stages[0], [](const ScheduleSlot& s) {
    return s.kind == SlotKind::kForward && s.chunk == 0;
  });
}

int64_t chunks_of(const PipelineOrder& order) {
  int64_t chunks = 0;
  if (!order.stages.empty())
    for (const ScheduleSlot& slot : order.stages[0])
      chunks = std::max<int64_t>(chunks, slot.chunk + 1);
  return chunks;
}

void take_schedule(const ScheduleFile& file, Parallelism& parallel) {
  const int index = index_of(words_of(Schedule{}), file.name);
  parallel.order = file.order;
  parallel.schedule = index < 0 ? Schedule::kFile : static_cast<Schedule>(index);
  const bool fits = suits(parallel.schedule, file.chunks) && parallel.vpp == file.chunks &&
                    file.micro_batches >= least_micro_batches(parallel.schedule, parallel.pp) &&
                    std::ssize(file.order.stages) == parallel.pp &&
                    pipeline_order(parallel, file.micro_batches) == file.order;
  if (!fits) parallel.schedule = Schedule::kFile;
}

}  // namespace ergometer::spec
