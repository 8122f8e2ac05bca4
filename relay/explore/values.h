// The values that nodes of a program have in a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <relay/explore/document.h>
#include <relay/explore/json_writer.h>

namespace relay::explore {

/// The field `values`: `[[node of the first stage, statistics, how often it ran]…]` for tensors
/// that a run computes. Those of the entry's own body come from a compiled program that gives all
/// of them back. Those in functions and branches are what the evaluator last saw within its share
/// of the time; in a program with effects it sees all. Gives a note if the run did not come to its
/// end, and throws `Error` if nothing could be run.
std::optional<std::string> write_values(JsonWriter& json, const Module& module, Name entry,
                                        const std::vector<Value>& arguments,
                                        const Options& options);

}  // namespace relay::explore
