#include "run/job_settings.h"

#include <nlohmann/json.hpp>

namespace ergometer::run {

struct JobSettings::Json {
  nlohmann::json job;

  const nlohmann::json* find(const char* part, const char* name) const {
    const auto of = job.find(part);
    if (of == job.end() || !of->is_object()) return nullptr;
    const auto value = of->find(name);
    return value == of->end() ? nullptr : &*value;
  }
};

JobSettings::JobSettings(const Run& run) {
  auto job = nlohmann::json::parse(run.job_json, nullptr, false);
  json_ = std::make_unique<const Json>(
      Json{job.is_object() ? std::move(job) : nlohmann::json::object()});
}
JobSettings::~JobSettings() = default;

bool JobSettings::on(const char* part, const char* name, bool unknown) const {
  const nlohmann::json* value = json_->find(part, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : unknown;
}

double JobSettings::number(const char* part, const char* name, double unknown) const {
  const nlohmann::json* value = json_->find(part, name);
  return value != nullptr && value->is_number() ? value->get<double>() : unknown;
}

std::string JobSettings::text(const char* part, const char* name) const {
  const nlohmann::json* value = json_->find(part, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace ergometer::run
