#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

// What nccl-tests and rccl-tests print:
//
//   # Collective test starting: all_reduce_perf
//   #  Rank  0 Group  0 Pid   4242 on     node-1 device  0 [0x07] NVIDIA H100
//   #                                                     out-of-place                 in-place
//   #    size    count   type  redop  root    time  algbw  busbw #wrong    time  algbw  busbw
//   #wrong #     (B)  (elements)                     (us) (GB/s) (GB/s)           (us) (GB/s)
//   (GB/s)
//     1048576   262144  float    sum    -1   40.00  26.21  49.15      0   39.80  26.35  49.40 0
//
// Older ones leave out columns in front of the first time, or leave them blank in rows, and write
// "error" for "#wrong": values count from the row's end. mpirun and srun may put a rank in front.

constexpr std::string_view kTimeTitle = "time", kAlgorithmTitle = "algbw", kBusTitle = "busbw";
constexpr size_t kHalf = 4;  // time, algbw, busbw, #wrong

/// "all_reduce" of the first word like "./build/all_reduce_perf"; empty without one.
std::string program_in(std::string_view text) {
  constexpr std::string_view kEnd = "_perf";
  const size_t end = text.find(kEnd);
  if (end == std::string_view::npos) return "";
  size_t from = end;
  while (from > 0 && (text[from - 1] == '_' || (text[from - 1] >= 'a' && text[from - 1] <= 'z')))
    --from;
  return std::string(text.substr(from, end - from));
}

class NcclTestsReader {
 public:
  explicit NcclTestsReader(LogBuilder& log) : log_(log) {}
  Result<void> read(std::string_view text);

 private:
  std::string_view without_prefix(std::string_view line) const {
    return !prefix_.empty() && line.starts_with(prefix_) ? line.substr(prefix_.size()) : line;
  }
  void read_comment(std::string_view line);
  void begin_table(std::string_view line, std::vector<std::string_view> titles);
  Result<void> read_row(const std::vector<std::string_view>& words, int64_t line);
  Result<void> read_half(const std::vector<std::string_view>& words, size_t at, double bytes,
                         const char* variant, int64_t line);

  LogBuilder& log_;
  std::string_view prefix_;
  std::string program_;
  int64_t ranks_ = 0, rows_ = 0, timings_ = 0, wrong_ = 0, head_line_ = 0;
  std::set<std::string, std::less<>> hosts_;
  size_t columns_ = 0, halves_ = 0;
  double time_unit_s_ = 1e-6;
};

void NcclTestsReader::read_comment(std::string_view line) {
  const std::vector<std::string_view> words = base::words(line);
  if (line.find("Using devices") != std::string_view::npos) {
    ranks_ = 0;
    hosts_.clear();
  }
  if (line.find("Collective test starting") != std::string_view::npos) program_ = program_in(line);
  if (std::ranges::find(words, "(ms)") != words.end()) time_unit_s_ = 1e-3;
  if (words.size() > 2 && words[1] == "Rank") {
    ++ranks_;
    const auto on = std::ranges::find(words, "on");
    if (on != words.end() && on + 1 != words.end()) hosts_.emplace(*(on + 1));
  }
}

void NcclTestsReader::begin_table(std::string_view line, std::vector<std::string_view> titles) {
  columns_ = titles.size();
  halves_ = static_cast<size_t>(std::ranges::count(titles, kTimeTitle));
  prefix_ = line.substr(0, line.find('#'));
  time_unit_s_ = 1e-6;
  run::CollectiveLog log;
  log.source = "nccl-tests";
  log.communicator = program_.empty() ? std::string(stem_of(log_.file())) : program_ + "_perf";
  log.file = log_.file();
  log.ranks = ranks_;
  log.nodes = static_cast<int64_t>(hosts_.size());
  log_.log().collectives.push_back(std::move(log));
}

Result<void> NcclTestsReader::read_half(const std::vector<std::string_view>& words, size_t at,
                                        double bytes, const char* variant, int64_t line) {
  const Cell time = read_cell(words[at]), algorithm = read_cell(words[at + 1]),
             bus = read_cell(words[at + 2]);
  if (time.kind == Cell::Kind::kMissing) {
    log_.drop(fmt::format("{}: {}", variant, words[at]));
    return {};
  }
  constexpr double kMost = 1e12;
  for (size_t i = 0; i < 3; ++i) {
    const Cell cell = read_cell(words[at + i]);
    if (cell.kind == Cell::Kind::kNumber && cell.unit.empty() && cell.value >= 0 &&
        cell.value < kMost)
      continue;
    constexpr std::array kTitles = {kTimeTitle, kAlgorithmTitle, kBusTitle};
    return input_error("{}:{}: column '{}', {}: found '{}', allowed: a number from 0, or N/A",
                       log_.file(), line, kTitles[i], variant, words[at + i]);
  }
  const auto wrong = whole_number(words[at + 3]);
  if (wrong && *wrong > 0) ++wrong_;
  ++timings_;
  log_.log().collectives.back().timings.push_back(
      {variant, -1, bytes, time.value * time_unit_s_, algorithm.value, bus.value});
  return {};
}

Result<void> NcclTestsReader::read_row(const std::vector<std::string_view>& words, int64_t line) {
  constexpr size_t kFewestInFront = 3;  // size, count, type
  const size_t values = kHalf * halves_;
  if (words.size() > columns_ || words.size() < values + kFewestInFront)
    return input_error("{}:{}: found {} columns, allowed: {}, as in the head", log_.file(), line,
                       words.size(), columns_);
  const auto bytes = whole_number(words.front());
  if (!bytes || *bytes < 0)
    return input_error("{}:{}: column 'size': found '{}', allowed: whole bytes", log_.file(), line,
                       words.front());
  constexpr std::array kVariants = {"out-of-place", "in-place"};
  for (size_t half = 0; half < halves_; ++half)
    ERGOMETER_TRY(read_half(words, words.size() - values + half * kHalf,
                            static_cast<double>(*bytes), kVariants[half], line));
  ++rows_;
  return {};
}

Result<void> NcclTestsReader::read(std::string_view text) {
  program_ = program_in(text.substr(0, text.find(kAlgorithmTitle)));
  if (program_.empty()) program_ = program_in(log_.file());
  for (Lines lines(text); lines.next();) {
    auto titles = nccl_tests_head(lines.line());
    if (!titles.empty()) {
      begin_table(lines.line(), std::move(titles));
      head_line_ = lines.number();
      continue;
    }
    const std::string_view line = trim(without_prefix(lines.line()));
    if (line.find('#') != std::string_view::npos) {
      read_comment(line.substr(line.find('#')));
      continue;
    }
    const std::vector<std::string_view> words = base::words(line);
    const bool row = head_line_ > 0 && !words.empty() && words.front().front() >= '0' &&
                     words.front().front() <= '9' && words.size() > 2;
    if (!row) {
      log_.drop("a line that is no row");
      continue;
    }
    const size_t before = log_.log().collectives.back().timings.size();
    const auto done = read_row(words, lines.number());
    if (done) continue;
    if (!lines.cut_off()) return done;
    log_.log().collectives.back().timings.resize(before);
    log_.drop("a row that is cut off at the end of the file");
  }
  if (rows_ == 0)
    return input_error("{}:{}: found a head, allowed: a head and rows below it", log_.file(),
                       head_line_);
  if (wrong_ > 0)
    log_.note(
        "{}: in {} of {} timings nccl-tests found wrong values: something is broken, "
        "however fast it is",
        log_.file(), wrong_, timings_);
  return {};
}

}  // namespace

std::vector<std::string_view> nccl_tests_head(std::string_view line) {
  if (line.find(kAlgorithmTitle) == std::string_view::npos) return {};
  const size_t hash = line.find('#');
  if (hash == std::string_view::npos) return {};
  std::vector<std::string_view> titles = base::words(line.substr(hash + 1));
  const auto first = std::ranges::find(titles, kTimeTitle);
  const auto left = static_cast<size_t>(titles.end() - first);
  const bool halves = left == kHalf || left == 2 * kHalf;
  if (titles.empty() || titles.front() != "size" || !halves) return {};
  for (size_t at = titles.size() - left; at < titles.size(); at += kHalf)
    if (titles[at] != kTimeTitle || titles[at + 1] != kAlgorithmTitle ||
        titles[at + 2] != kBusTitle)
      return {};
  return titles;
}

bool is_nccl_tests(std::string_view text) {
  for (size_t at = text.find(kAlgorithmTitle); at != std::string_view::npos;
       at = text.find(kAlgorithmTitle, at + 1)) {
    const size_t from = text.rfind('\n', at);
    const size_t begin = from == std::string_view::npos ? 0 : from + 1;
    if (!nccl_tests_head(text.substr(begin, text.find('\n', at) - begin)).empty()) return true;
  }
  return false;
}

Result<void> read_nccl_tests(std::string_view text, LogBuilder& log) {
  return NcclTestsReader(log).read(text);
}

}  // namespace ergometer::importer
