// Messages about dimensions that are known later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/dim.h>

namespace relay {

/// A message with terms in it: pieces[0] dims[0] pieces[1] dims[1] … (one more piece than terms).
struct DimText {
  std::vector<std::string> pieces{""};
  std::vector<Dim> dims;
  /// With the terms as they print.
  std::string str() const;
};

/// While one lives, terms print as marks on this thread: a relation's message that was made
/// meanwhile can be taken apart, and said with numbers once there are some.
class DimMarks {
 public:
  DimMarks();
  ~DimMarks();
  DimMarks(const DimMarks&) = delete;
  DimMarks& operator=(const DimMarks&) = delete;

  DimText text(std::string_view message) const;

  /// For `Dim::str`: the mark of a term; empty if none are being made.
  static std::string mark(Dim dim);

 private:
  std::vector<Dim> dims_;
  DimMarks* outer_;
};

}  // namespace relay
