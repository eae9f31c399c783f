#include "cli/predict/plan_options.h"

#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "campaign/by_hour.h"
#include "campaign/phases_file.h"
#include "spec/catalog/read.h"
#include "spec/job/measure_range.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {
namespace {

using spec::MeasureRange;

constexpr double kMostS = 3.2e9, kMostW = 1e12;
constexpr MeasureRange kDuration{"s", 1, kMostS}, kBandwidth{"B/s", 1, 1e18},
    kPower{"W", 1, kMostW}, kMoney{"", 0, 1e18}, kCarbon{"", 0, 1e5};

/// An option's value as a quantity; `fallback` where it is not given.
Result<double> quantity(const Arguments& arguments, const char* name, const MeasureRange& range,
                        double fallback = 0) {
  if (!arguments.has(name)) return fallback;
  const auto value = range.read(arguments.value(name));
  if (value) return *value;
  return input_error("--{}: {}", name, value.error().message);
}

Result<std::optional<double>> maybe(const Arguments& arguments, const char* name,
                                    const MeasureRange& range) {
  if (!arguments.has(name)) return std::optional<double>();
  ERGOMETER_ASSIGN(const double value, quantity(arguments, name, range));
  return std::optional<double>(value);
}

/// A number for all hours, or a CSV file with one for each.
Result<std::vector<double>> by_hour(const Arguments& arguments, const char* name,
                                    std::string_view column, const MeasureRange& range) {
  const std::string text = arguments.value(name);
  if (text.empty()) return std::vector<double>();
  if (!text.ends_with(".csv")) {
    ERGOMETER_ASSIGN(const double value, quantity(arguments, name, range));
    return std::vector<double>{value};
  }
  ERGOMETER_ASSIGN(const std::string csv, base::read_file(text, spec::kLargestWritten));
  return campaign::parse_by_hour(csv, text, column, range);
}

Result<std::vector<campaign::Phase>> phases_of(const Arguments& arguments) {
  const bool tokens = arguments.has("tokens"), file = arguments.has("phases");
  if (tokens == file)
    return input_error(tokens ? "--tokens and --phases both say how long the run is; leave one out"
                              : "plan: --tokens N is missing: how many tokens is the model "
                                "trained on? (--phases FILE.yaml says it by phase)");
  if (file) {
    const std::string path = arguments.value("phases");
    ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
    return campaign::parse_phases(text, path);
  }
  const auto count = campaign::parse_tokens(arguments.value("tokens"));
  if (!count) return input_error("--tokens: {}", count.error().message);
  return std::vector<campaign::Phase>{{"training", *count, {}}};
}

Result<campaign::Failures> failures_of(const Arguments& arguments) {
  const std::string from = arguments.value("failures");
  campaign::Failures failures = campaign::catalog_failures();
  if (from == "none") {
    if (arguments.has("mtbf"))
      return input_error("--mtbf: --failures none says that nothing fails");
    failures.per_gpu_hour = 0;
    failures.spread = 1;
    return failures;
  }
  if (!from.empty()) {
    ERGOMETER_ASSIGN(const std::string csv, base::read_file(from, spec::kLargestWritten));
    ERGOMETER_ASSIGN(failures, campaign::parse_failures(csv, from));
  }
  if (!arguments.has("mtbf")) return failures;
  ERGOMETER_ASSIGN(const double mtbf_s, quantity(arguments, "mtbf", {"s", 60, 1e12}));
  return campaign::with_mtbf(std::move(failures), mtbf_s);
}

/// "30min", or a number of steps.
Result<void> read_interval(const Arguments& arguments, campaign::Checkpointing& checkpointing) {
  const std::string text = arguments.value("checkpoint-every");
  if (const auto steps = base::parse_count(text); steps && *steps > 0) {
    checkpointing.every_steps = static_cast<double>(*steps);
    return {};
  }
  const auto every_s = quantity(arguments, "checkpoint-every", kDuration);
  if (!every_s) return input_error("{}; or a number of steps, as 500", every_s.error().message);
  checkpointing.every_s = *every_s;
  return {};
}

Result<campaign::Checkpointing> checkpointing_of(const Arguments& arguments) {
  campaign::Checkpointing result;
  ERGOMETER_ASSIGN(result.storage_bytes_per_s, quantity(arguments, "storage", kBandwidth));
  ERGOMETER_ASSIGN(result.snapshot_bytes_per_s, quantity(arguments, "snapshot", kBandwidth));
  result.hidden = arguments.has("hidden-checkpoints");
  if (arguments.has("snapshot") && !result.hidden)
    return input_error("--snapshot: is of --hidden-checkpoints");
  if (arguments.has("checkpoint-every")) ERGOMETER_TRY(read_interval(arguments, result));
  return result;
}

Result<campaign::Evaluation> evaluation_of(const Arguments& arguments) {
  campaign::Evaluation result;
  if (arguments.has("evaluate-every") != arguments.has("evaluate-batches"))
    return input_error("--evaluate-every and --evaluate-batches go together");
  ERGOMETER_ASSIGN(result.every_steps, quantity(arguments, "evaluate-every", {"", 1, 1e9}));
  ERGOMETER_ASSIGN(result.batches, quantity(arguments, "evaluate-batches", {"", 1, 1e9}));
  return result;
}

Result<campaign::Prices> prices_of(const Arguments& arguments) {
  campaign::Prices prices;
  ERGOMETER_ASSIGN(prices.gpu_hour, maybe(arguments, "price-gpu-hour", kMoney));
  ERGOMETER_ASSIGN(prices.kwh, maybe(arguments, "price-kwh", kMoney));
  ERGOMETER_ASSIGN(prices.water_l_per_kwh, maybe(arguments, "water", {"", 0, 1e3}));
  ERGOMETER_ASSIGN(prices.carbon_g_per_kwh, by_hour(arguments, "carbon", "g_per_kwh", kCarbon));
  return prices;
}

Result<campaign::Spares> spares_of(const Arguments& arguments) {
  if (!arguments.has("spares")) return campaign::Spares();
  ERGOMETER_ASSIGN(const double nodes, quantity(arguments, "spares", {"", 0, 1e6}));
  if (nodes != std::floor(nodes))
    return input_error("--spares: found \"{}\"; allowed: a whole number of nodes",
                       arguments.value("spares"));
  return campaign::Spares(static_cast<int64_t>(nodes));
}

/// "2026-03-09".
Result<std::optional<std::chrono::sys_days>> start_of(const Arguments& arguments) {
  std::optional<std::chrono::sys_days> start;
  if (!arguments.has("start")) return start;
  const std::string text = arguments.value("start");
  const std::vector<std::string> parts = base::split(text, '-');
  if (parts.size() == 3) {
    const auto year = base::parse_integer(parts[0]), month = base::parse_integer(parts[1]),
               day = base::parse_integer(parts[2]);
    if (year && month && day && *year >= 1970 && *year <= 9999 && *month >= 1 && *month <= 12 &&
        *day >= 1 && *day <= 31) {
      const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                             std::chrono::month(static_cast<unsigned>(*month)),
                                             std::chrono::day(static_cast<unsigned>(*day)));
      if (date.ok()) return std::optional<std::chrono::sys_days>(date);
    }
  }
  return input_error("--start: found \"{}\"; allowed: a day from 1970-01-01 to 9999-12-31", text);
}

}  // namespace

std::vector<Flag> campaign_flags() {
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "campaign", help));
  };
  add("tokens", "N", "tokens that the model is trained on: 15T");
  add("phases", "FILE.yaml", "the run by phases: `run`, a list of {tokens, seq, gbs, ...}");
  add("start", "DATE", "the day on which training begins: 2026-03-09");
  add("deadline", "TIME", "the run is to be ready in: 60d");
  add("budget", "X", "and to cost no more, in the currency of the prices");
  add("mtbf", "TIME", "of one GPU with its share of the node, network and software: 50000h");
  add("failures", "none|FILE.csv", "kinds of failures; by default those of the catalog");
  add("spares", "N", "nodes that stand by; by default one is always there");
  add("storage", "B/s", "what storage takes from all nodes together: 500 GB/s; 1 GB/s a node");
  add("checkpoint-every", "TIME|N", "a time, or a number of steps; by default what is best");
  add("hidden-checkpoints", "", "training stands for a copy to the hosts alone");
  add("snapshot", "B/s", "of that copy, a GPU; 10 GB/s");
  add("evaluate-every", "N", "steps from one evaluation to the next");
  add("evaluate-batches", "N", "global batches of each");
  add("data-stalls", "%", "time that steps wait for data, over the time of the steps");
  add("price-gpu-hour", "X", "price of a GPU for an hour");
  add("price-kwh", "X", "price of a kWh at the meter");
  add("carbon", "G|FILE.csv", "g CO2 a kWh at the meter, or a file with hour,g_per_kwh");
  add("water", "L", "litres of cooling water a kWh of the nodes");
  add("facility-power-limit", "W|FILE.csv",
      "what the meter may show: 20 MW, or a file with hour,limit");
  add("campaigns", "N", "draws of the whole run; 2,000");
  return flags;
}

Result<std::vector<int64_t>> campaign_gpus(const Arguments& arguments) {
  std::vector<int64_t> gpus;
  for (const std::string& text : base::split(arguments.value("gpus"), ',')) {
    const auto count = base::parse_integer(text);
    if (!count || *count < 1 || *count > spec::kMostRanks)
      return input_error(
          "--gpus: found \"{}\"; allowed: whole numbers from 1 to {}, like 4096,8192", text,
          spec::kMostRanks);
    gpus.push_back(*count);
  }
  return gpus;
}

Result<campaign::Ask> campaign_ask(const Arguments& arguments) {
  campaign::Ask ask;
  ERGOMETER_ASSIGN(ask.phases, phases_of(arguments));
  ERGOMETER_ASSIGN(ask.failures, failures_of(arguments));
  ERGOMETER_ASSIGN(ask.spares, spares_of(arguments));
  ERGOMETER_ASSIGN(ask.checkpointing, checkpointing_of(arguments));
  ERGOMETER_ASSIGN(ask.evaluation, evaluation_of(arguments));
  ERGOMETER_ASSIGN(ask.stalled_share, quantity(arguments, "data-stalls", {"%", 0, 10}));
  ERGOMETER_ASSIGN(ask.prices, prices_of(arguments));
  ERGOMETER_ASSIGN(ask.limit_w, by_hour(arguments, "facility-power-limit", "limit", kPower));
  ERGOMETER_ASSIGN(ask.start, start_of(arguments));
  ERGOMETER_ASSIGN(ask.deadline_s, quantity(arguments, "deadline", kDuration));
  ERGOMETER_ASSIGN(ask.budget, quantity(arguments, "budget", kMoney));
  if (arguments.has("budget") && ask.budget <= 0)
    return input_error("--budget: found 0; allowed: more, in the currency of the prices");
  if (ask.budget > 0 && !ask.prices.gpu_hour && !ask.prices.kwh)
    return input_error("--budget: needs a price, --price-gpu-hour or --price-kwh");
  const auto draws = base::parse_count(arguments.value("campaigns", std::to_string(ask.draws)));
  if (!draws || *draws < 20 || *draws > 1'000'000)
    return input_error("--campaigns: found \"{}\"; allowed: from 20 to 1,000,000",
                       arguments.value("campaigns"));
  ask.draws = *draws;
  return ask;
}

}  // namespace ergometer::cli
