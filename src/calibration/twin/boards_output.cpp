#include "calibration/twin/boards_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <vector>

#include "base/wrap.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kInPercent = 100;
constexpr size_t kBoardsShown = 16;

std::string place_of(const Board& board) {
  if (!board.read.host.empty()) return fmt::format("{} gpu {}", board.read.host, board.read.gpu);
  return fmt::format("node{} gpu {}", board.read.node, board.read.gpu);
}

std::string reading(double value, const char* form, const char* unit) {
  return value > 0 ? fmt::format("{} {}", fmt::format(fmt::runtime(form), value), unit) : "-";
}

std::string times(const char* what, const BoardValue& value) {
  return fmt::format("{} {:.2f} times (+-{:.0f} %)", what, value.value, kInPercent * value.error);
}

/// What makes it unlike others, or as far as it is known.
std::string taken_for(const Board& board) {
  std::vector<std::string> parts;
  if (board.cap_w > 0) parts.push_back(fmt::format("cap {:.0f} W", board.cap_w));
  if (board.speed < 1)
    parts.push_back(fmt::format("{:.0f} % of its clock", kInPercent * board.speed));
  if (board.resistance.told) parts.push_back(times("resistance", board.resistance));
  if (board.leakage.told) parts.push_back(times("leakage", board.leakage));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

void add_unlike(const Boards& boards, std::string& out) {
  size_t unlike = 0;
  for (const Board& board : boards.boards) {
    if (!board.unlike || ++unlike > kBoardsShown) continue;
    if (unlike == 1)
      fmt::format_to(std::back_inserter(out), "  {:<22}{:>10}{:>10}{:>10}\n",
                     "unlike others of its kind", "power", "die", "clock");
    const auto row = [&](const std::string& name, double w, double c, double mhz) {
      fmt::format_to(std::back_inserter(out), "  {:<25}{:>7}{:>10}{:>10}\n", name,
                     reading(w, "{:.0f}", "W"), reading(c, "{:.1f}", "C"),
                     reading(mhz, "{:.0f}", "MHz"));
    };
    row(place_of(board), board.read.power_w, board.read.die_c, board.read.clock_mhz);
    row("  its kind here", board.predicted_w, board.predicted_c, board.predicted_mhz);
    out += "    " + base::wrap(taken_for(board), 76, 6) + '\n';
  }
  if (unlike == 0) out += "  no GPU is unlike others of its kind\n";
  if (unlike > kBoardsShown)
    fmt::format_to(std::back_inserter(out), "  and {} more\n", unlike - kBoardsShown);
}

void add_inlets_text(const Boards& boards, std::string& out) {
  for (size_t n = 0; n < boards.inlets.size(); ++n) {
    const NodeInlet& it = boards.inlets[n];
    if (!it.unlike) continue;
    fmt::format_to(std::back_inserter(out),
                   "  {}: inlet {:.1f} C (+-{:.1f} K{}), {:.1f} C predicted\n",
                   it.host.empty() ? fmt::format("node{}", n) : it.host, it.inlet_c, it.error_k,
                   it.read ? ", read" : "", it.predicted_c);
  }
}

/// GPUs that became warmer than the others did.
void add_warmer_text(const Boards& boards, std::string& out) {
  constexpr double kWarmer = 3;  // K: what loads differ by
  for (const Board& board : boards.boards)
    if (board.read.warmer_k.value_or(0) > kWarmer)
      fmt::format_to(std::back_inserter(out), "  {}: {:.1f} K warmer than in the half before\n",
                     place_of(board), *board.read.warmer_k);
}

void add_spread_text(const char* what, const BoardValue& spread, std::vector<std::string>& told,
                     std::vector<std::string>& untold) {
  const std::string value = fmt::format("{:.0f} %", kInPercent * spread.value);
  if (spread.told)
    told.push_back(fmt::format("{} {} (+-{:.0f} % of it)", what, value, kInPercent * spread.error));
  else
    untold.push_back(fmt::format("{} from board to board: {}; {} assumed", what, kAlike, value));
}

}  // namespace

std::string to_text(const Boards& boards, std::string_view from) {
  std::string out = fmt::format("Boards, by {}: {} GPUs\n", from, boards.boards.size());
  add_unlike(boards, out);
  add_inlets_text(boards, out);
  add_warmer_text(boards, out);
  std::vector<std::string> told, untold = boards.notes;
  add_spread_text("resistance", boards.resistance_spread, told, untold);
  add_spread_text("leakage", boards.leakage_spread, told, untold);
  if (!told.empty())
    out += "  " + base::wrap(fmt::format("from board to board: {}", fmt::join(told, ", ")), 78, 4) +
           '\n';
  out += "  not told\n";
  for (const std::string& note : untold) out += "    " + base::wrap(note, 76, 6) + '\n';
  return out;
}

void write_boards(base::JsonWriter& json, const Boards& boards) {
  const auto write = [&](const char* name, const BoardValue& value) {
    json.key(name).begin_object(base::JsonWriter::Layout::kOneLine);
    json.member("value", value.value).member("error_log", value.error).member("told", value.told);
    json.end_object();
  };
  json.rows("boards", boards.boards, [&](const Board& board) {
    json.member("host", board.read.host).member("node", board.read.node);
    json.member("gpu", board.read.gpu).member("unlike", board.unlike);
    json.member("power_w", board.read.power_w).member("predicted_w", board.predicted_w);
    json.member("gpu_c", board.read.die_c).member("predicted_c", board.predicted_c);
    json.member("clock_mhz", board.read.clock_mhz).member("predicted_mhz", board.predicted_mhz);
    json.member("warmer_k", board.read.warmer_k);
    write("leakage", board.leakage);
    write("resistance", board.resistance);
    json.member("speed", board.speed);
    json.key("power_cap_w");
    board.cap_w > 0 ? json.value(board.cap_w) : json.null();
  });
  json.rows("inlets", boards.inlets, [&](const NodeInlet& it) {
    json.member("host", it.host).member("inlet_c", it.inlet_c).member("error_k", it.error_k);
    json.member("predicted_c", it.predicted_c).member("read", it.read);
    json.member("told", it.told).member("unlike", it.unlike);
  });
  json.key("spreads").begin_object();
  write("leakage", boards.leakage_spread);
  write("resistance", boards.resistance_spread);
  json.end_object().list("not_told", boards.notes);
}

}  // namespace ergometer::calibration::twin
