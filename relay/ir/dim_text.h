// Messages about dimensions whose values are known later.
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
  /// The message with the terms as they print.
  std::string str() const;
};

/// While one lives, terms print as marks on this thread. A relation's message that is made
/// meanwhile can be taken apart, and completed with numbers once these are known.
class DimMarks {
 public:
  DimMarks();
  ~DimMarks();
  DimMarks(const DimMarks&) = delete;
  DimMarks& operator=(const DimMarks&) = delete;

  DimText text(std::string_view message) const;

  /// For `Dim::str`: the mark of a term; empty if no marks are being made.
  static std::string mark(Dim dim);

 private:
  std::vector<Dim> dims_;
  DimMarks* outer_;
};

}  // namespace relay
