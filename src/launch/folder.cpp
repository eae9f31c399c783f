#include "launch/folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/collection.h"
#include "base/file.h"
#include "base/output_file.h"
#include "launch/manifest.h"
#include "launch/scripts.h"
#include "optimize/files.h"
#include "run/run.h"

namespace ergometer::launch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestTextFile = size_t{1} << 31;
/// The user may edit these.
constexpr std::array<std::string_view, 2> kUsersFiles = {"hosts.txt", "settings.sh"};

tl::unexpected<base::Error> io_error(const std::string& path, const std::error_code& error) {
  return input_error("{}: {}", path, error.message());
}

std::vector<TextFile> text_files(const Plan& plan) {
  std::vector<TextFile> files = scripts_of(plan);
  files.push_back({"manifest.json", manifest_json(plan)});
  for (const PlannedRun& run : plan.runs)
    files.push_back({fmt::format("runs/{}/job.yaml", run_name(run.number)),
                     optimize::job_file(plan.job_of(run).settings)});
  return files;
}

/// A folder for what is being written, gone again unless it is kept.
class Draft {
 public:
  explicit Draft(const std::string& beside)
      : path_(fmt::format("{}.{}.partial", beside, getpid())) {}
  ~Draft() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

Result<void> write_all(const Plan& plan, const std::string& folder) {
  std::error_code error;
  for (const PlannedRun& run : plan.runs) {
    const std::string path = fmt::format("{}/runs/{}", folder, run_name(run.number));
    fs::create_directories(path, error);
    if (error) return io_error(path, error);
    ERGOMETER_TRY(run::write_run(plan.job_of(run).predicted, path + "/predicted.run"));
  }
  for (const TextFile& file : text_files(plan))
    ERGOMETER_TRY(base::write_file_atomically(folder + "/" + file.path, file.text));
  return {};
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (std::error_code ignored; at->is_regular_file(ignored))
      files.push_back(at->path().lexically_relative(folder).generic_string());
  std::ranges::sort(files);
  return files;
}

/// Whether everything of the draft stands in the folder, too.
Result<Written> same(const std::string& folder, const std::string& draft) {
  Written written;
  written.existed = true;
  for (const std::string& file : files_in(draft)) {
    const auto there = base::read_file(folder + "/" + file, kLargestTextFile);
    ERGOMETER_ASSIGN(const std::string wanted,
                     base::read_file(draft + "/" + file, kLargestTextFile));
    if (there && *there == wanted) continue;
    if (there && base::contains(kUsersFiles, file)) {
      written.edited.push_back(file);
      continue;
    }
    return input_error(
        "{0}: is there already and {1}, which is not what would be written ({2}); give another "
        "--out, or remove it",
        folder, there ? "holds another " + file : "has no " + file,
        there ? "other jobs, options or version" : "another folder");
  }
  return written;
}

}  // namespace

Result<Written> write_folder(const Plan& plan, const std::string& path) {
  std::string target = path;
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  Draft draft(target);
  std::error_code error;
  fs::create_directories(draft.path(), error);
  if (error) return io_error(draft.path(), error);
  ERGOMETER_TRY(write_all(plan, draft.path()));
  if (fs::exists(target, error) &&
      !(fs::is_directory(target, error) && fs::is_empty(target, error)))
    return same(target, draft.path());
  fs::rename(draft.path(), target, error);
  if (error) return io_error(target, error);
  draft.keep();
  return Written{};
}

}  // namespace ergometer::launch
