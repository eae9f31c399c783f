#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>

#include <string>

namespace ergometer::spec {

/// What a `YAML::Parser` that is asked for one document after the other says, and nothing done with
/// it. Behind a flow (`{a: b}, c`) the parser begins the same document for ever: here a document
/// that begins where the one before began is an exception.
class DocumentWalk : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) final {
    if (mark.pos == began_at_)
      throw YAML::ParserException(mark, "what stands here belongs to no document");
    began_at_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int began_at_ = -1;
};

}  // namespace ergometer::spec
