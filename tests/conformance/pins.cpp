#include <tests/conformance/pins.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <relay/support/error.h>

namespace relay::conformance {

Pins::Pins(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string name, what, value;
    std::getline(fields, name, '\t');
    std::getline(fields, what, '\t');
    std::getline(fields, value);
    Reached& reached = files_[name];
    if (what == "lacks") {
      reached.lacks.insert(value);
    } else {
      (what == "passed" ? reached.passed : reached.differences) = std::stoul(value);
    }
  }
}

bool Pins::allows(const std::string& file, const std::string& reason) const {
  auto found = files_.find(file);
  return found != files_.end() && found->second.lacks.count(reason) > 0;
}

std::string Pins::worse(const std::string& file, const Reached& reached) const {
  auto found = files_.find(file);
  if (found == files_.end() || reached.passed >= found->second.passed) return {};
  return std::to_string(reached.passed) + " cases passed, " + std::to_string(found->second.passed) +
         " are pinned";
}

bool Pins::better(const std::string& file, const Reached& reached) const {
  auto found = files_.find(file);
  if (found == files_.end()) return true;
  const Reached& pinned = found->second;
  return reached.passed > pinned.passed || reached.differences < pinned.differences ||
         !std::includes(reached.lacks.begin(), reached.lacks.end(), pinned.lacks.begin(),
                        pinned.lacks.end());
}

void Pins::write(const std::string& path) const {
  std::ofstream file(path);
  file << "# What the recorded cases reach; a run that reaches less fails. tests/update_pins "
          "writes this table.\n";
  for (const auto& [name, reached] : files_) {
    file << name << "\tpassed\t" << reached.passed << "\n";
    if (reached.differences > 0) file << name << "\tdifferences\t" << reached.differences << "\n";
    for (const std::string& reason : reached.lacks) file << name << "\tlacks\t" << reason << "\n";
  }
  if (!file.flush()) throw Error("cannot write " + path);
}

}  // namespace relay::conformance
