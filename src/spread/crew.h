#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "spread/launcher.h"

namespace ergometer::spread {

/// Makes the answer of one piece of work: a line of text. Belongs to one thread.
using Worker = std::function<std::string(size_t piece)>;

struct Task {
  std::string identity;        ///< which work it is: processes with another one do not take part
  std::vector<size_t> pieces;  ///< what is to be done; the leader's counts
  size_t threads = 1;          ///< of this process
  std::function<Worker()> worker;  ///< makes one for each thread, on that thread
  /// Takes an answer, on the leader, one call at a time, in whatever order they come. An error ends
  /// the task.
  std::function<Result<void>(size_t piece, std::string answer)> done;
  std::function<bool()> stop = {};  ///< asked on the leader between pieces: begin no more of them
};

/// Who does the work: threads of this process, or of many processes on many nodes. Pieces go to
/// whoever is free, so what is made of the answers may depend on the pieces, never on who answered
/// first.
class Crew {
 public:
  virtual ~Crew() = default;
  /// Whether this process takes the answers, writes and prints. One of them does.
  virtual bool leads() const { return true; }
  /// Processes of the crew that share this machine's processors.
  virtual size_t processes_here() const { return 1; }
  /// At most once. Returns when every piece is done or the task has ended otherwise; in processes
  /// that do not lead, when the leader is finished with all.
  virtual Result<void> run(const Task& task) = 0;
  /// This process cannot take part, and why; nothing behind `run`.
  virtual void decline(const std::string& /*why*/) {}
};

/// This process alone.
std::unique_ptr<Crew> thread_crew();

/// All ranks of an MPI job. `note` is told, on the leader, of ranks that do not take part. An
/// error: this program was built without MPI, or MPI does not bring the ranks together.
Result<std::unique_ptr<Crew>> mpi_crew(const Launched& launched,
                                       std::function<void(const std::string&)> note);
bool built_with_mpi();

}  // namespace ergometer::spread
