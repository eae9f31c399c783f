// The only file that knows MPI; no_mpi.cpp stands in for it where there is none.
//
// One coordinator: rank 0 keeps the pieces, and works on them with its own threads beside. Every
// other rank has as many pieces as threads, and one more that waits; each answer brings it the next
// one. Only a process' first thread calls MPI, and it sleeps between looks: Open MPI's own waiting
// takes a whole processor.
//
// A rank that dies takes the job with it: so both `mpirun` and Slurm's PMIx have it. What is
// finished until then is in the coordinator's journal.
#define OMPI_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "spread/pool.h"

namespace ergometer::spread {
namespace {

enum Tag { kPiece = 1, kAnswer, kEnd };
constexpr auto kPause = std::chrono::microseconds(500);

using Text = std::array<char, 512>;  // the end of a longer one is lost
/// What every rank says of itself before the work.
struct Greeting {
  uint64_t threads = 0;
  Text host{}, identity{}, problem{};
};

void put(Text& to, const std::string& text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), to.size() - 1));
}

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<size_t>(length)};
}

/// A message that is there; none: nothing has come.
std::optional<MPI_Status> probe(int source) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  return status;
}

std::string receive(const MPI_Status& status) {
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::string text(static_cast<size_t>(bytes), '\0');
  MPI_Recv(text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return text;
}

void send(int rank, Tag tag, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

std::string bytes_of(uint64_t piece) {
  return {reinterpret_cast<const char*>(&piece), sizeof piece};
}

uint64_t take_piece(std::string& text) {
  uint64_t piece = 0;
  std::memcpy(&piece, text.data(), std::min(sizeof piece, text.size()));
  text.erase(0, sizeof piece);
  return piece;
}

/// What a rank that does not lead has been given, and what it has to send back.
class Desk {
 public:
  explicit Desk(const Task& task) {
    for (size_t i = 0; i < task.threads; ++i)
      threads_.emplace_back([this, &task] {
        const Worker work = task.worker();
        while (const auto piece = wait_for_piece()) put_answer(*piece, work(*piece));
      });
  }
  ~Desk() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    given_.notify_all();
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void give(uint64_t piece) {
    const std::scoped_lock lock(mutex_);
    pieces_.push_back(piece);
    given_.notify_one();
  }
  /// Waits a moment for them.
  std::deque<std::string> answers() {
    std::unique_lock lock(mutex_);
    answered_.wait_for(lock, kPause, [this] { return !answers_.empty(); });
    return std::exchange(answers_, {});
  }

 private:
  std::optional<uint64_t> wait_for_piece() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return ended_ || !pieces_.empty(); });
    if (ended_) return std::nullopt;
    const uint64_t piece = pieces_.front();
    pieces_.pop_front();
    return piece;
  }
  void put_answer(uint64_t piece, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    answers_.push_back(bytes_of(piece) + text);
    answered_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable given_, answered_;
  std::deque<uint64_t> pieces_;
  std::deque<std::string> answers_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

class MpiCrew : public Crew {
 public:
  explicit MpiCrew(std::function<void(const std::string&)> note) : note_(std::move(note)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks_here_);
    MPI_Comm_free(&here);
  }
  ~MpiCrew() override {
    decline("it ended before the work");
    if (leads())
      for (int rank = 1; rank < ranks_; ++rank) send(rank, kEnd, "");
    MPI_Finalize();
  }
  MpiCrew(const MpiCrew&) = delete;
  MpiCrew& operator=(const MpiCrew&) = delete;

  bool leads() const override { return rank_ == 0; }
  size_t processes_here() const override { return static_cast<size_t>(ranks_here_); }

  Result<void> run(const Task& task) override {
    const std::vector<Greeting> all = meet(task, "");
    if (leads()) return lead(task, all);
    follow(task);
    return {};
  }

  void decline(const std::string& why) override {
    if (met_) return;
    meet({}, why);
    while (!leads() && !ended()) std::this_thread::sleep_for(kPause);
  }

 private:
  /// On the leader what all ranks say, else nothing.
  std::vector<Greeting> meet(const Task& task, const std::string& problem) {
    met_ = true;
    Greeting ours;
    ours.threads = task.threads;
    put(ours.host, host_name());
    put(ours.identity, task.identity);
    put(ours.problem, problem);
    std::vector<Greeting> all(leads() ? static_cast<size_t>(ranks_) : 0);
    constexpr int kBytes = sizeof(Greeting);
    MPI_Gather(&ours, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    return all;
  }

  bool takes_part(const Greeting& greeting, int rank, const std::string& identity) const {
    std::string why = greeting.problem.data();
    if (why.empty() && identity != greeting.identity.data())
      why = "it has other input files, or is another version of this program";
    if (why.empty()) return true;
    note_(fmt::format("rank {} on {} takes no part: {}", rank, greeting.host.data(), why));
    return false;
  }

  Result<void> lead(const Task& task, const std::vector<Greeting>& all) const {
    Pool pool(task);
    std::atomic<size_t> working = task.threads;
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < task.threads; ++i)
      threads.emplace_back([&] {
        const Worker work = task.worker();
        while (const auto piece = pool.next()) pool.answer(*piece, work(*piece));
        --working;
      });
    size_t away = 0;
    const auto give = [&](int rank) {
      const auto piece = pool.next();
      if (!piece) return;
      send(rank, kPiece, bytes_of(*piece));
      ++away;
    };
    for (int rank = 1; rank < ranks_; ++rank) {
      const Greeting& greeting = all[static_cast<size_t>(rank)];
      if (!takes_part(greeting, rank, task.identity)) continue;
      for (uint64_t i = 0; i <= greeting.threads; ++i) give(rank);
    }
    while (away > 0 || working > 0) {
      const auto status = probe(MPI_ANY_SOURCE);
      if (!status) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      std::string text = receive(*status);
      const uint64_t piece = take_piece(text);
      pool.answer(piece, std::move(text));
      --away;
      give(status->MPI_SOURCE);
    }
    return pool.result();
  }

  void follow(const Task& task) {
    Desk desk(task);
    for (;;) {
      for (const std::string& answer : desk.answers()) send(0, kAnswer, answer);
      while (const auto status = probe(0)) {
        std::string text = receive(*status);
        if (status->MPI_TAG == kEnd) return;
        desk.give(take_piece(text));
      }
    }
  }

  static bool ended() {
    const auto status = probe(0);
    return status && (receive(*status), status->MPI_TAG == kEnd);
  }

  std::function<void(const std::string&)> note_;
  int rank_ = 0, ranks_ = 1, ranks_here_ = 1;
  bool met_ = false;
};

}  // namespace

bool built_with_mpi() { return true; }

Result<std::unique_ptr<Crew>> mpi_crew(const Launched& launched,
                                       std::function<void(const std::string&)> note) {
  int provided = 0, ranks = 1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (static_cast<size_t>(ranks) == launched.ranks && provided >= MPI_THREAD_FUNNELED)
    return std::make_unique<MpiCrew>(std::move(note));
  MPI_Finalize();
  return input_error(
      "started as {} ranks, of which MPI brings {} together; with Slurm: srun --mpi=pmix",
      launched.ranks, ranks);
}

}  // namespace ergometer::spread
