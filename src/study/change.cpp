#include "study/change.h"

#include "base/json_writer.h"

namespace ergometer::study {

void add(Change& change, const Change& over) {
  change.settings.merge(over.settings);
  for (const auto& [name, text] : over.cluster) change.cluster[name] = text;
}

void apply(const Change& change, spec::Settings& settings) {
  settings.merge(change.settings);
  const spec::Settings::Value* cluster = settings.find("cluster");
  if (change.cluster.empty() || cluster == nullptr) return;
  base::JsonWriter json;
  json.begin_object(base::JsonWriter::Layout::kOneLine).key("extends");
  if (cluster->text.starts_with('{'))
    json.raw(cluster->text);
  else
    json.value(cluster->text);
  for (const auto& [name, text] : change.cluster) json.member(name, text);
  json.end_object();
  std::string text = json.take();
  if (text.ends_with('\n')) text.pop_back();
  settings.set("cluster", std::move(text), cluster->origin);
}

}  // namespace ergometer::study
