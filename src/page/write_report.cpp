#include "page/write_report.h"

#include <filesystem>
#include <utility>

#include "base/output_file.h"
#include "page/page.h"

namespace ergometer::page {

Result<void> write_report(std::vector<NamedRun> runs, const DocumentOptions& options,
                          const std::string& path) {
  ERGOMETER_TRY(base::check_replaces(path, "a report's page", "<!doctype html"));
  const std::string title = title_of(runs, options);
  ERGOMETER_ASSIGN(const std::string json, document(std::move(runs), options));
  return base::write_file_atomically(path, fill_page(page_template(), title, json));
}

std::string name_of_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  return name.empty() ? path : name;
}

}  // namespace ergometer::page
