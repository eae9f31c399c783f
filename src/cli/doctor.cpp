#include "cli/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/json_writer.h"
#include "base/version.h"
#include "cli/console/terminal.h"
#include "run/file/sqlite.h"
#include "run/run.h"
#include "spec/catalog/read.h"
#include "spec/recipe/recipe.h"
#include "spec/recipe/software.h"
#include "spread/crew.h"

namespace ergometer::cli {
namespace {

struct Finding {
  std::string name, text;
  bool ok = true;
};

Finding check_catalog() {
  size_t models = 0, clusters = 0, software = 0, recipes = 0;
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind == spec::CatalogKind::kModel) {
      if (const auto model = spec::read_model(entry.name); !model)
        return {"catalog", model.error().message, false};
      ++models;
    }
    if (entry.kind == spec::CatalogKind::kCluster || entry.kind == spec::CatalogKind::kNode) {
      if (const auto cluster = spec::read_cluster(entry.name); !cluster)
        return {"catalog", cluster.error().message, false};
      ++clusters;
    }
    if (entry.kind == spec::CatalogKind::kRecipe) {
      if (const auto recipe = spec::parse_recipe(entry.text, std::string(entry.path)); !recipe)
        return {"catalog", recipe.error().message, false};
      ++recipes;
    }
    if (entry.kind == spec::CatalogKind::kSoftware) {
      if (const auto profile = spec::read_software(entry.name); !profile)
        return {"catalog", profile.error().message, false};
      ++software;
    }
  }
  return {"catalog",
          fmt::format("{} models, {} nodes and clusters, {} software profiles, {} recipes, all "
                      "readable",
                      models, clusters, software, recipes),
          true};
}

/// Writes a Run into the folder for temporary files and reads it back.
Finding check_run_file() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  const std::string path = (folder / fmt::format("ergometer-doctor-{}", getpid())).string();
  const auto written = run::write_run({}, path);
  if (!written) return {"run file", written.error().message, false};
  const auto back = run::read_run(path);
  std::filesystem::remove(path, error);
  if (!back) return {"run file", back.error().message, false};
  return {
      "run file",
      fmt::format("SQLite {}, written to and read from {}", run::sqlite_version(), folder.string()),
      true};
}

std::vector<Finding> examine(const Console& console) {
  const report::TextStyle style = terminal_style(console.out);
  return {
      {"version", fmt::format("{} ({})", base::version(), base::build_description()), true},
      {"machine", fmt::format("{} processors", std::thread::hardware_concurrency()), true},
      {"terminal",
       fmt::format("colour {}, block characters {}", style.colour ? "on" : "off",
                   style.unicode ? "on" : "off (the locale is not UTF-8)"),
       true},
      {"mpi",
       spread::built_with_mpi() ? "built in: srun --mpi=pmix and mpirun spread searches and studies"
                                : "not built in: threads and --shard spread work",
       true},
      check_catalog(),
      check_run_file()};
}

std::string to_json(const std::vector<Finding>& findings) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", 1);
  json.rows("findings", findings, [&](const Finding& finding) {
    json.member("name", finding.name).member("ok", finding.ok).member("text", finding.text);
  });
  json.end_object();
  return json.take();
}

}  // namespace

std::vector<Flag> doctor_flags() { return {}; }

Result<int> run_doctor(const Arguments& arguments, const Console& console) {
  const std::vector<Finding> findings = examine(console);
  bool ok = true;
  std::string text;
  for (const Finding& finding : findings) {
    ok = ok && finding.ok;
    text += fmt::format("{:<5}{:<10}{}\n", finding.ok ? "ok" : "BAD", finding.name, finding.text);
  }
  console.answer(arguments.has("json") ? to_json(findings) : text);
  return ok ? 0 : static_cast<int>(base::ErrorKind::kMissing);
}

}  // namespace ergometer::cli
