#include "run/file/operator_tables.h"

#include <algorithm>

#include "run/file/row_table.h"

namespace ergometer::run {
namespace {

constexpr const char* kOperatorSchema = R"sql(
CREATE TABLE trace_texts (
  file INTEGER NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (file, number)) WITHOUT ROWID;
CREATE TABLE trace_operators (
  file INTEGER NOT NULL, name INTEGER NOT NULL, shapes INTEGER, dtypes INTEGER, input_values INTEGER,
  external_id INTEGER, record_function_id INTEGER, sequence INTEGER, forward_thread INTEGER, thread INTEGER,
  start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL);
CREATE TABLE trace_ranges (
  file INTEGER NOT NULL, name INTEGER NOT NULL, gpu INTEGER NOT NULL, thread INTEGER, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL);
CREATE TABLE trace_calls (
  file INTEGER NOT NULL, launch INTEGER, name INTEGER, thread INTEGER, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL);
)sql";

constexpr uint32_t kNoText = GpuEvent::kNone;

// A text's number is the file's, until `resolve` puts the one of `names` in its place.

constexpr RowTable kOperatorTable("trace_operators", "file", OrNull(&Operator::name),
                                  OrNull(&Operator::shapes), OrNull(&Operator::dtypes),
                                  OrNull(&Operator::values), OrNull(&Operator::external_id),
                                  OrNull(&Operator::record_function_id),
                                  OrNull(&Operator::sequence), OrNull(&Operator::forward_thread),
                                  OrNull(&Operator::thread), &Operator::start_ns,
                                  &Operator::duration_ns);
constexpr RowTable kRangeTable("trace_ranges", "file", OrNull(&Range::name), &Range::gpu,
                               OrNull(&Range::thread), &Range::start_ns, &Range::duration_ns);

/// Runs `use` on the number of every text in a trace, `kNoText` among them.
template <class Trace, class Use>
void for_each_text(Trace& trace, Use&& use) {
  for (auto& op : trace.operators)
    for (auto* text : {&op.name, &op.shapes, &op.dtypes, &op.values}) use(*text);
  for (auto& range : trace.ranges) use(range.name);
  for (auto& launch : trace.launches) use(launch.name);
  for (auto& wait : trace.waits) use(wait.name);
}

void insert_texts(Database& db, int64_t file, const RankTrace& trace) {
  std::vector<bool> used(trace.names.size());
  for_each_text(trace, [&](uint32_t text) {
    if (text != kNoText) used[text] = true;
  });
  Statement insert(db, "INSERT INTO trace_texts VALUES (?, ?, ?)");
  for (size_t number = 0; number < used.size(); ++number)
    if (used[number]) insert.run(file, static_cast<int64_t>(number), trace.names[number]);
}

void insert_calls(Database& db, int64_t file, const RankTrace& trace) {
  Statement insert(db, "INSERT INTO trace_calls VALUES (?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const Launch& l : trace.launches)
    insert.run(file, Nullable{position++}, or_null(l.name), known(l.thread), l.start_ns,
               l.duration_ns);
  for (const Launch& w : trace.waits)
    insert.run(file, Nullable{}, or_null(w.name), known(w.thread), w.start_ns, w.duration_ns);
}

/// A text's number in the file.
uint32_t number_of(const Statement& row, int column) {
  const int64_t number = known(row, column);
  return number < 0 || number >= kNoText ? kNoText : static_cast<uint32_t>(number);
}

bool select_calls(Database& db, Run& run) {
  Statement call(db, "SELECT * FROM trace_calls ORDER BY file, rowid");
  while (call.step()) {
    RankTrace* trace = owner_of(call, run.traces);
    if (trace == nullptr) return false;
    if (call.is_null(1)) {
      trace->waits.push_back(
          {-1, -1, call.integer(4), call.integer(5), known(call, 3), number_of(call, 2)});
      continue;
    }
    const int64_t launch = call.integer(1);
    if (launch < 0 || launch >= static_cast<int64_t>(trace->launches.size())) return false;
    trace->launches[static_cast<size_t>(launch)].name = number_of(call, 2);
    trace->launches[static_cast<size_t>(launch)].thread = known(call, 3);
  }
  return true;
}

/// Puts the texts into `names`, and their places there into whatever names them.
bool resolve(Database& db, Run& run) {
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> places(run.traces.size());
  Statement text(db, "SELECT * FROM trace_texts ORDER BY file, number");
  while (text.step()) {
    RankTrace* trace = owner_of(text, run.traces);
    if (trace == nullptr) return false;
    places[static_cast<size_t>(text.integer(0))].emplace_back(
        number_of(text, 1), static_cast<uint32_t>(trace->names.size()));
    trace->names.push_back(text.text(2));
  }
  bool complete = true;
  for (size_t file = 0; file < run.traces.size(); ++file)
    for_each_text(run.traces[file], [&](uint32_t& name) {
      if (name == kNoText) return;
      const auto found = std::ranges::lower_bound(places[file], std::pair(name, uint32_t{0}));
      const bool exists = found != places[file].end() && found->first == name;
      complete = complete && exists;
      name = exists ? found->second : kNoText;
    });
  return complete && std::ranges::all_of(run.traces, [](const RankTrace& trace) {
           const auto named = [](const auto& it) { return it.name != kNoText; };
           return std::ranges::all_of(trace.operators, named) &&
                  std::ranges::all_of(trace.ranges, named);
         });
}

}  // namespace

void create_operator_tables(Database& db) { db.execute(kOperatorSchema); }

void insert_operators(Database& db, const Run& run) {
  for (size_t file = 0; file < run.traces.size(); ++file) {
    insert_texts(db, static_cast<int64_t>(file), run.traces[file]);
    insert_calls(db, static_cast<int64_t>(file), run.traces[file]);
  }
  kOperatorTable.insert_each(db, run.traces, &RankTrace::operators);
  kRangeTable.insert_each(db, run.traces, &RankTrace::ranges);
}

bool select_operators(Database& db, Run& run) {
  if (!db.has_table("trace_operators")) return true;
  for (const char* table : {"trace_texts", "trace_ranges", "trace_calls"})
    if (!db.has_table(table)) return false;
  return kOperatorTable.select_each(db, run.traces, &RankTrace::operators) &&
         kRangeTable.select_each(db, run.traces, &RankTrace::ranges) && select_calls(db, run) &&
         resolve(db, run);
}

}  // namespace ergometer::run
