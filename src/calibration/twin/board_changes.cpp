#include "calibration/twin/board_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/collection.h"

namespace ergometer::calibration::twin {
namespace {

/// From which change on a board is another than the plan was made for, in K, of its clock, of the
/// time, of its limit; and of the plan's power what the job draws at least while it works. Assumed:
/// above what means over a minute of the same board differ by.
constexpr double kHotterK = 3, kAirK = 2, kClock = 0.03, kHeld = 0.1, kLimit = 0.01, kAtWork = 0.7;

struct Compared {
  Unlike what;
  BoardHistory::Quantity of;
};
constexpr std::array kCompared = std::to_array<Compared>({
    {Unlike::kTemperature, BoardHistory::kCelsius},
    {Unlike::kClock, BoardHistory::kMegahertz},
    {Unlike::kHeldBack, BoardHistory::kHeldBack},
    {Unlike::kLimit, BoardHistory::kLimit},
    {Unlike::kInlet, BoardHistory::kInlet},
});

bool is_unlike(Unlike what, double before, double now) {
  const double off = std::abs(now - before);
  switch (what) {
    case Unlike::kTemperature: return off >= kHotterK;
    case Unlike::kInlet: return off >= kAirK;
    case Unlike::kClock: return off >= kClock * before;
    case Unlike::kHeldBack: return off >= kHeld;
    case Unlike::kLimit: return off >= kLimit * before;
    case Unlike::kReplaced: return true;
  }
  return false;
}

}  // namespace

std::string_view to_word(Unlike what) {
  constexpr std::array<std::string_view, 6> kWords = {"replaced",  "temperature", "clock",
                                                      "held_back", "power_limit", "inlet"};
  return kWords[static_cast<size_t>(what)];
}

std::string_view BoardChange::unit() const {
  constexpr std::array<std::string_view, 6> kUnits = {"", "C", "MHz", "1", "W", "C"};
  return kUnits[static_cast<size_t>(what)];
}

std::string BoardChange::text() const {
  const std::string place = gpu < 0 ? host : fmt::format("{} gpu {}", host, gpu);
  const double more = now - before;
  switch (what) {
    case Unlike::kReplaced:
      return fmt::format("{}: another board than the plan was made for", place);
    case Unlike::kTemperature:
      return fmt::format("{}: {:.1f} K {}, {:.1f} -> {:.1f} C", place, std::abs(more),
                         more > 0 ? "hotter" : "cooler", before, now);
    case Unlike::kInlet:
      return fmt::format("{}: air {:.1f} K {}, {:.1f} -> {:.1f} C", place, std::abs(more),
                         more > 0 ? "warmer" : "cooler", before, now);
    case Unlike::kClock:
      return fmt::format("{}: clock {:+.1f} %, {:.0f} -> {:.0f} MHz", place, 100 * more / before,
                         before, now);
    case Unlike::kHeldBack:
      return fmt::format("{}: held back {:.0f} % of the time, {:.0f} % before", place, 100 * now,
                         100 * before);
    case Unlike::kLimit:
      return fmt::format("{}: power limit {:.0f} -> {:.0f} W", place, before, now);
  }
  return place;
}

void BoardChanges::plan_made(const BoardHistory& history, int64_t from_ns, int64_t to_ns) {
  changes_.clear();
  rests_.clear();
  then_.assign(history.devices().size(), {});
  for (size_t device = 0; device < then_.size(); ++device)
    for (size_t q = 0; q < BoardHistory::kQuantities; ++q)
      then_[device][q] =
          history.mean(device, static_cast<BoardHistory::Quantity>(q), from_ns, to_ns);
}

bool BoardChanges::rests(const BoardHistory& history, int64_t now_ns) const {
  std::vector<double> shares;
  for (size_t device = 0; device < then_.size(); ++device) {
    const auto before = then_[device][BoardHistory::kWatts];
    const auto now =
        history.mean(device, BoardHistory::kWatts, now_ns - history.stretch_ns(), now_ns);
    if (before && now && *before > 0) shares.push_back(*now / *before);
  }
  return !shares.empty() && base::upper_median(std::move(shares)) < kAtWork;
}

void BoardChanges::hold(const BoardHistory& history, size_t device, Unlike what, bool unlike,
                        double before, double now, int64_t now_ns) {
  const Key key(device, what);
  if (!unlike) return void(changes_.erase(key));
  const run::Device& of = history.devices()[device];
  BoardChange& change = changes_[key];
  if (change.since_ns == 0) change.since_ns = now_ns;
  change.host = of.host;
  change.gpu = of.kind == run::DeviceKind::kGpu ? of.index : -1;
  change.what = what;
  change.before = before;
  change.now = now;
}

void BoardChanges::compare(const BoardHistory& history, size_t device, int64_t now_ns) {
  const int64_t from_ns = now_ns - std::min(kMinuteNs, persist_ns_);
  const bool is_new = device >= then_.size();
  for (const auto& [what, of] : kCompared) {
    const auto now = history.mean(device, of, from_ns, now_ns);
    if (!now) continue;
    // One that came since stands at a place whose board the plan was made for.
    if (is_new && history.devices()[device].kind == run::DeviceKind::kGpu) {
      hold(history, device, Unlike::kReplaced, true, 0, 0, now_ns);
      return;
    }
    if (is_new || !then_[device][of]) continue;
    hold(history, device, what, is_unlike(what, *then_[device][of], *now), *then_[device][of], *now,
         now_ns);
  }
}

std::vector<BoardChange> BoardChanges::look(const BoardHistory& history, int64_t now_ns) {
  if (rests(history, now_ns)) {
    rests_.push_back(now_ns - history.stretch_ns());
    while (rests_.front() < now_ns - history.keep_ns() - history.stretch_ns()) rests_.pop_front();
    for (auto& [key, change] : changes_) change.since_ns += history.stretch_ns();
    return {};
  }
  for (size_t device = 0; device < history.devices().size(); ++device)
    if (!history.is_replaced(device)) compare(history, device, now_ns);
  std::vector<BoardChange> lasting;
  bool long_enough = false;
  for (const auto& [key, change] : changes_) {
    if (history.is_replaced(key.first)) continue;
    long_enough = long_enough || now_ns - change.since_ns >= persist_ns_;
    if (now_ns - change.since_ns >= persist_ns_ / 2) lasting.push_back(change);
  }
  if (!long_enough) return {};
  std::ranges::stable_sort(lasting, {},
                           [](const BoardChange& it) { return std::pair(it.host, it.gpu); });
  return lasting;
}

}  // namespace ergometer::calibration::twin
