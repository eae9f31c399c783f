#include "campaign/sizes.h"

#include <algorithm>
#include <string>

#include "base/collection.h"
#include "base/parallel.h"

namespace ergometer::campaign {
namespace {

constexpr double kSure = 0.9;

spec::Settings with_gpus(const spec::Settings& settings, int64_t gpus, bool several) {
  spec::Settings result = settings;
  if (several) result.erase("data_parallel_size");
  result.set("gpus", std::to_string(gpus), {"--gpus", ""});
  return result;
}

Campaign refused(int64_t gpus, std::string why) {
  Campaign campaign;
  campaign.training.job.gpus = gpus;
  campaign.refusal = std::move(why);
  return campaign;
}

bool meets_all(const Campaign& campaign, const Ask& ask) {
  return campaign.refusal.empty() && campaign.training.memory.fits &&
         (ask.deadline_s <= 0 || campaign.deadline_share >= kSure) &&
         (ask.budget <= 0 || campaign.budget_share >= kSure);
}

Marginal marginal_of(const Campaign& a, const Campaign& b) {
  Marginal result{.from = a.gpus(), .to = b.gpus()};
  const auto more = static_cast<double>(b.gpus() - a.gpus());
  const double tokens_per_s = b.tokens_per_s() - a.tokens_per_s(),
               watts = b.meter_w() - a.meter_w();
  result.days = a.days.median - b.days.median;
  result.tokens_per_s_per_gpu = tokens_per_s / more;
  const double next = b.tokens_per_s() + 1000 * result.tokens_per_s_per_gpu;
  if (next > 0) result.days_by_next_1000 = b.days.median * (1 - b.tokens_per_s() / next);
  if (watts > 0) result.tokens_per_j = tokens_per_s / watts;
  if (result.days > 0) result.cost_per_day = (b.cost.median - a.cost.median) / result.days;
  return result;
}

void add_marginals(Sizes& sizes) {
  const Campaign* before = nullptr;
  for (const Campaign& campaign : sizes.campaigns) {
    if (!campaign.refusal.empty()) continue;
    if (before != nullptr) sizes.marginals.push_back(marginal_of(*before, campaign));
    before = &campaign;
  }
}

void choose(const Ask& ask, Sizes& sizes) {
  for (const Campaign& campaign : sizes.campaigns) sizes.meets.push_back(meets_all(campaign, ask));
  auto at = std::ranges::find(sizes.meets, true) - sizes.meets.begin();
  if (!sizes.any_meets())
    at = std::ranges::find_if(sizes.campaigns,
                              [](const Campaign& each) { return each.refusal.empty(); }) -
         sizes.campaigns.begin();
  sizes.chosen = static_cast<size_t>(at);
}

}  // namespace

bool Sizes::any_meets() const { return base::contains(meets, true); }

Result<Sizes> plan_sizes(const spec::Settings& settings, const Ask& ask, std::vector<int64_t> gpus,
                         size_t threads) {
  std::ranges::sort(gpus);
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  Sizes sizes;
  sizes.campaigns.resize(std::max<size_t>(1, gpus.size()));
  std::vector<base::Error> errors(sizes.campaigns.size());
  base::parallel_for(sizes.campaigns.size(), threads, [&](size_t i) {
    const bool given = i < gpus.size();
    auto campaign =
        plan_campaign(given ? with_gpus(settings, gpus[i], gpus.size() > 1) : settings, ask);
    if (!campaign) errors[i] = campaign.error();
    sizes.campaigns[i] =
        campaign ? *std::move(campaign) : refused(given ? gpus[i] : 0, campaign.error().message);
  });
  const bool none = std::ranges::all_of(sizes.campaigns,
                                        [](const Campaign& each) { return !each.refusal.empty(); });
  if (none) return tl::unexpected(errors.front());
  add_marginals(sizes);
  choose(ask, sizes);
  return sizes;
}

}  // namespace ergometer::campaign
