// Patterns as decision trees.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include <relay/ir/module.h>
#include <relay/vm/compiler/code.h>

namespace relay::vm {

/// Writes the tests of a match on the value in register `data`. If a clause fits, the registers of
/// its variables have been set and a jump follows. Returns these jumps for each clause; the caller
/// sets their targets. A value that no clause fits fails.
/// `fields` are registers of known fields, of tuples that exist nowhere else: `data` (or the
/// register of a field) is then only a number.
using KnownFields = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
std::vector<std::vector<uint32_t>> write_match(
    const Match& match, uint32_t data, const Module& module, CodeWriter& code,
    const std::function<uint32_t(const Var* var)>& register_of, const KnownFields& fields = {});

}  // namespace relay::vm
