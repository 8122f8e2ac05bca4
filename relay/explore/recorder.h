// Watches a compilation: a stage for each pass and each rewrite of graphs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <relay/explore/stage.h>
#include <relay/graph/rewrite.h>
#include <relay/pattern/driver.h>
#include <relay/transform/pass_context.h>

namespace relay::explore {

class Recorder {
 public:
  explicit Recorder(Tables& tables) : tables_(tables) {}

  /// A stage that no pass made.
  void module(const std::string& name, const Module& module);
  /// For the contexts that passes run in. Must not outlive the recorder.
  PassInstrument passes();
  /// Keep it while passes run: counts the rules that fire.
  std::unique_ptr<pattern::FiringWatch> rules();
  graph::RewriteObserver rewrites();
  /// The launches of kernels, as the last stage; places of graphs are known from now on.
  void executable(const vm::Executable& executable);

  /// The field `stages`.
  void write(JsonWriter& json) const;

 private:
  struct Fired {
    int32_t rule = -1;
    int32_t place = -1;
  };
  struct Stage {
    std::string name;
    const char* kind = "module";
    int depth = 0;
    double seconds = 0;
    bool changed = true;
    size_t before = 0, after = 0;  // nodes
    std::vector<Fired> fired;
    size_t firings = 0;
    StageText text;  // if changed
  };
  struct Open {
    size_t stage = 0;
    double recorded = 0;  // seconds that recording inner passes took
  };

  size_t nodes_of(const Module& module);

  Tables& tables_;
  std::vector<Stage> stages_;
  std::vector<Open> open_;
  /// Kept, so that no other function comes to have the address of a counted one.
  std::map<const Function*, std::pair<FunctionRef, size_t>> counted_;
};

}  // namespace relay::explore
