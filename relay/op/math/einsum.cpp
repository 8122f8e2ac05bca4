// Sums of products over named axes.
#include <algorithm>
#include <array>
#include <string_view>

#include <relay/op/op.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct EinsumAttrs {
  Required<std::string> equation;
  RELAY_ATTRS(EinsumAttrs,
              (equation,
               "A letter for each axis of each operand, operands separated by commas, then perhaps "
               "-> and those of the result: \"ij,jk->ik\". ... stands for any number of axes."))
};

/// Axes by number: letters as their character codes, those of an ellipsis from kEllipsis on, the
/// last one first.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

[[noreturn]] void refuse(std::string_view equation, const std::string& why) {
  throw Error("equation \"" + std::string(equation) + "\": " + why);
}

// One side of a comma; an ellipsis takes `rank` less the letters, or, where the rank is not known,
// `ellipsis` axes.
Labels parse_term(std::string_view equation, std::string_view term, std::optional<size_t> rank,
                  size_t ellipsis) {
  Labels labels;
  std::optional<size_t> dots;
  for (size_t at = 0; at < term.size(); ++at) {
    char c = term[at];
    if (c == '.') {
      if (dots || term.substr(at, 3) != "...")
        refuse(equation, "\"...\" is written once and whole");
      dots = labels.size();
      at += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      refuse(equation, std::string("'") + c + "' names no axis; letters do");
    }
  }
  if (rank && labels.size() > *rank)
    refuse(equation, "\"" + std::string(term) + "\" names " + std::to_string(labels.size()) +
                         " axes of an operand that has " + std::to_string(*rank));
  if (rank && !dots && labels.size() < *rank)
    refuse(equation, "\"" + std::string(term) + "\" names " + std::to_string(labels.size()) +
                         " of the " + std::to_string(*rank) + " axes of an operand");
  if (dots) {
    size_t count = rank ? *rank - labels.size() : ellipsis;
    Labels hidden;
    for (size_t k = count; k-- > 0;) hidden.push_back(kEllipsis + static_cast<int>(k));
    labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(*dots), hidden.begin(),
                  hidden.end());
  }
  return labels;
}

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Labels that occur once, in alphabetical order, after those of an ellipsis.
Labels implicit_result(const std::vector<Labels>& operands, size_t ellipsis) {
  Labels result;
  for (size_t k = ellipsis; k-- > 0;) result.push_back(kEllipsis + static_cast<int>(k));
  for (int label = 0; label < kEllipsis; ++label) {
    size_t uses = 0;
    for (const Labels& labels : operands)
      uses += static_cast<size_t>(std::count(labels.begin(), labels.end(), label));
    if (uses == 1) result.push_back(label);
  }
  return result;
}

Equation parse(const std::string& written, const std::vector<te::TensorInfo>& operands) {
  std::string text;
  for (char c : written) {
    if (c != ' ') text += c;
  }
  std::string_view left = text, right;
  size_t arrow = text.find("->");
  if (arrow != std::string::npos) {
    left = std::string_view(text).substr(0, arrow);
    right = std::string_view(text).substr(arrow + 2);
  }
  Equation equation;
  size_t ellipsis = 0;
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = std::min(left.find(',', begin), left.size());
    size_t k = equation.operands.size();
    if (k == operands.size())
      refuse(written, "it has more operands than the " + std::to_string(k) + " given");
    Labels labels = parse_term(written, left.substr(begin, end - begin), operands[k].rank(), 0);
    for (int label : labels)
      if (label >= kEllipsis)
        ellipsis = std::max(ellipsis, static_cast<size_t>(label - kEllipsis) + 1);
    equation.operands.push_back(std::move(labels));
    begin = end + 1;
  }
  if (equation.operands.size() < operands.size())
    refuse(written, "it has " + std::to_string(equation.operands.size()) + " of the " +
                        std::to_string(operands.size()) + " operands given");
  if (arrow == std::string::npos) {
    equation.result = implicit_result(equation.operands, ellipsis);
    return equation;
  }
  equation.result = parse_term(written, right, std::nullopt, ellipsis);
  for (size_t k = 0; k < equation.result.size(); ++k) {
    int label = equation.result[k];
    if (label >= kEllipsis) continue;
    std::string name(1, static_cast<char>(label));
    bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                             [&](const Labels& labels) { return contains(labels, label); });
    if (!known) refuse(written, "axis " + name + " of the result is in no operand");
    if (std::count(equation.result.begin(), equation.result.end(), label) > 1)
      refuse(written, "axis " + name + " occurs twice in the result");
  }
  if (ellipsis > 0 && !contains(equation.result, kEllipsis))
    refuse(written, "the result leaves out the axes of \"...\"");
  return equation;
}

// Extents by label; nothing while they are open.
std::optional<std::vector<std::pair<int, Dim>>> extents_of(
    const RelationCall& call, const Equation& equation,
    const std::vector<te::TensorInfo>& operands) {
  std::vector<std::pair<int, Dim>> extents;
  auto name = [](int label) {
    return label >= kEllipsis ? std::string("of \"...\"")
                              : std::string(1, static_cast<char>(label));
  };
  for (size_t k = 0; k < operands.size(); ++k) {
    const Labels& labels = equation.operands[k];
    for (size_t d = 0; d < labels.size(); ++d) {
      Dim extent = operands[k].dims[d];
      // Twice in one operand: a diagonal.
      for (size_t e = 0; e < d; ++e) {
        if (labels[e] == labels[d])
          call.require_equal(operands[k].dims[e], extent,
                             "axis " + name(labels[d]) + " has extents " +
                                 operands[k].dims[e].str() + " and " + extent.str() + " in " +
                                 shape_str(operands[k].dims));
      }
      auto found = std::find_if(extents.begin(), extents.end(),
                                [&](const auto& entry) { return entry.first == labels[d]; });
      if (found == extents.end()) {
        extents.emplace_back(labels[d], extent);
        continue;
      }
      Dim known = found->second;
      if (known == extent) continue;
      if (known.has_variable() || extent.has_variable()) return std::nullopt;
      auto joined = broadcast(known, extent);
      std::string message =
          "axis " + name(labels[d]) + " has extents " + known.str() + " and " + extent.str();
      call.require(joined.has_value(), message);
      Dim both[] = {*joined};
      call.require_broadcasts({&known, 1}, both, message);
      call.require_broadcasts({&extent, 1}, both, message);
      found->second = *joined;
    }
  }
  return extents;
}

TypeRef infer_einsum(const RelationCall& call) {
  std::vector<te::TensorInfo> operands = call.tensors(0);
  call.require(!operands.empty(), "there are no operands: the tuple is empty");
  Equation equation = parse(*call.attrs<EinsumAttrs>().equation, operands);
  auto extents = extents_of(call, equation, operands);
  if (!extents) return {};
  std::vector<Dim> dims;
  for (int label : equation.result) {
    auto found = std::find_if(extents->begin(), extents->end(),
                              [&](const auto& entry) { return entry.first == label; });
    dims.push_back(found->second);
  }
  return TensorType::make(dims, operands[0].dtype);
}

// ---- Contraction --------------------------------------------------------------------------------

struct Operand {
  te::Tensor tensor;
  Labels labels;
};

class Contractor {
 public:
  Contractor(te::Builder& b, const Equation& equation, std::vector<std::pair<int, Dim>> extents,
             DType dtype)
      : b_(b), equation_(equation), extents_(std::move(extents)) {
    sum_ = dtype.is_float() && dtype.bits < 32 ? kFloat32 : dtype;
    for (size_t k = 0; k < equation.operands.size(); ++k)
      operands_.push_back({b.input(k), equation.operands[k]});
  }

  te::Tensor run(DType dtype) {
    // Sums over labels of one operand alone come first: the rest are products of matrices.
    for (size_t k = 0; operands_.size() > 1 && k < operands_.size(); ++k) {
      Labels kept = needed(operands_[k].labels, k, k);
      if (kept.size() < distinct(operands_[k].labels).size())
        operands_[k] = contracted({operands_[k]}, kept, sum_);
    }
    while (operands_.size() > 2) {
      auto [i, j] = cheapest_pair();
      Labels kept = needed(joined(operands_[i].labels, operands_[j].labels), i, j);
      Operand product = contracted({operands_[i], operands_[j]}, kept, sum_);
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(j));
      operands_[i] = std::move(product);
    }
    return contracted(operands_, equation_.result, dtype).tensor;
  }

 private:
  Dim extent(int label) const {
    return std::find_if(extents_.begin(), extents_.end(),
                        [&](const auto& entry) { return entry.first == label; })
        ->second;
  }

  static Labels distinct(const Labels& labels) {
    Labels result;
    for (int label : labels) {
      if (!contains(result, label)) result.push_back(label);
    }
    return result;
  }
  static Labels joined(const Labels& a, const Labels& b) {
    Labels both;  // shared ones first: the batch of a product
    for (int label : a) {
      if (contains(b, label)) both.push_back(label);
    }
    both.insert(both.end(), a.begin(), a.end());
    both.insert(both.end(), b.begin(), b.end());
    return distinct(both);
  }

  // The labels that the result or an operand other than i and j has.
  Labels needed(const Labels& labels, size_t i, size_t j) const {
    Labels result;
    for (int label : distinct(labels)) {
      bool use = contains(equation_.result, label);
      for (size_t k = 0; !use && k < operands_.size(); ++k)
        use = k != i && k != j && contains(operands_[k].labels, label);
      if (use) result.push_back(label);
    }
    return result;
  }

  double size(const Labels& labels) const {
    constexpr double kUsual = 32;  // what an extent counts as that is not known
    double product = 1;
    for (int label : labels) {
      Dim dim = extent(label);
      product *= dim.is_int() ? static_cast<double>(dim.as_int()) : kUsual;
    }
    return product;
  }

  // The pair whose product grows least, of those the one that takes the least work.
  std::pair<size_t, size_t> cheapest_pair() const {
    constexpr size_t kMost = 32;  // beyond, from left to right
    if (operands_.size() > kMost) return {0, 1};
    std::pair<size_t, size_t> best{0, 1};
    std::array<double, 2> least{};
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (size_t j = i + 1; j < operands_.size(); ++j) {
        Labels both = joined(operands_[i].labels, operands_[j].labels);
        std::array<double, 2> cost{size(needed(both, i, j)) - size(distinct(operands_[i].labels)) -
                                       size(distinct(operands_[j].labels)),
                                   size(both)};
        if ((i == 0 && j == 1) || cost < least) {
          least = cost;
          best = {i, j};
        }
      }
    }
    return best;
  }

  // The position on an axis that may be 1 where the others have `extent`.
  static Scalar spread(const Scalar& index, Dim dim, Dim extent) {
    if (dim == extent) return index;
    if (dim.is_int(1)) return te::index_constant(0);
    if (dim.is_int()) return index;
    return te::select(te::from_dim(dim) == 1, te::index_constant(0), index);
  }

  // The sum of products of one or two operands over the labels that are not kept.
  Operand contracted(const std::vector<Operand>& factors, const Labels& kept, DType dtype) {
    Labels folded;
    for (const Operand& factor : factors) {
      for (int label : factor.labels) {
        if (!contains(kept, label) && !contains(folded, label)) folded.push_back(label);
      }
    }
    std::vector<Dim> dims, over;
    for (int label : kept) dims.push_back(extent(label));
    for (int label : folded) over.push_back(extent(label));
    te::Tensor result = b_.map(dims, [&](Indices i) {
      auto product = [&](Indices k) {
        Scalar value;
        for (const Operand& factor : factors) {
          std::vector<Scalar> at;
          for (size_t d = 0; d < factor.labels.size(); ++d) {
            int label = factor.labels[d];
            auto place = std::find(kept.begin(), kept.end(), label);
            auto fold = std::find(folded.begin(), folded.end(), label);
            Scalar index = place != kept.end() ? i[static_cast<size_t>(place - kept.begin())]
                                               : k[static_cast<size_t>(fold - folded.begin())];
            at.push_back(spread(index, factor.tensor.dim(d), extent(label)));
          }
          Scalar element = te::cast(factor.tensor(at), sum_);
          value = value.node() == nullptr ? element : value * element;
        }
        return value;
      };
      return te::cast(over.empty() ? product({}) : b_.sum(over, product), dtype);
    });
    return {result, kept};
  }

  te::Builder& b_;
  const Equation& equation_;
  std::vector<std::pair<int, Dim>> extents_;
  std::vector<Operand> operands_;
  DType sum_;
};

void compute_einsum(const OpCall& call, te::Builder& b) {
  std::vector<TypeRef> inputs{call.input(0)};
  RelationCall relation(inputs, call.attrs_ref());
  std::vector<te::TensorInfo> operands = relation.tensors(0);
  Equation equation = parse(*call.attrs<EinsumAttrs>().equation, operands);
  DType dtype = call.result().dtype;
  Contractor contractor(b, equation, *extents_of(relation, equation, operands), dtype);
  b.output(contractor.run(dtype));
}

RELAY_OP("einsum")
    .doc(
        "Sums of products over named axes, as in NumPy: axes of one letter run together, and those "
        "that the result does not name are summed over. Without -> the result has the letters that "
        "occur once, in alphabetical order. Several operands are multiplied pair by pair, the "
        "cheapest pair first.")
    .input("data", "Tuple of the operands.", tuple_of(tensor('T', kNumbers)))
    .output("result", "The sums.", tensor('T'))
    .attrs<EinsumAttrs>()
    .relation(infer_einsum)
    .example(
        "fn (%a: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { einsum((%a, %b), "
        "equation=\"ij,j->i\") }",
        "[[1, 2, 3], [4, 5, 6]]", "[1, 0, -1]")
    .level(11)
    .compute(compute_einsum);

}  // namespace
}  // namespace relay
