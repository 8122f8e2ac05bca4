// Operators on sequences of different lengths in one tensor, triangles and diagonals.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct ReverseSequenceAttrs {
  attr::Axis seq_axis = 1;
  attr::Axis batch_axis = 0;
  RELAY_ATTRS(ReverseSequenceAttrs, (seq_axis, "Axis that sequences run along."),
              (batch_axis, "Axis that counts the sequences."))
};
struct SequenceMaskAttrs {
  double mask_value = 0;
  attr::Axis axis = 0;
  RELAY_ATTRS(SequenceMaskAttrs, (mask_value, "Value of elements past the end."),
              (axis, "Axis that sequences run along, 0 or 1; the other one counts them."))
};
struct TriluAttrs {
  bool upper = true;
  RELAY_ATTRS(TriluAttrs, (upper, "True keeps the part above the diagonal, False the part below."))
};
struct MatrixSetDiagAttrs {
  int64_t k1 = 0;
  int64_t k2 = 0;
  bool super_diag_right_align = true;
  bool sub_diag_right_align = false;
  RELAY_ATTRS(
      MatrixSetDiagAttrs, (k1, "Lowest diagonal: 0 is the main one, below it are negative."),
      (k2, "Highest diagonal."),
      (super_diag_right_align,
       "True if diagonals above the main one end at the end of their row of diagonal, else they "
       "start at its start."),
      (sub_diag_right_align, "The same of those below."))
};

void require_lengths(const RelationCall& call, Dim batch) {
  Dim count = call.tensor(1).dims[0];
  call.require_equal(count, batch,
                     "there are " + count.str() + " lengths for " + batch.str() +
                         " sequences: " + call.input(0)->str() + " and " + call.input(1)->str());
}

TypeRef infer_reverse_sequence(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ReverseSequenceAttrs>();
  int64_t along = normalize_axis(call, attrs.seq_axis, data.rank(), "seq_axis");
  int64_t batch = normalize_axis(call, attrs.batch_axis, data.rank(), "batch_axis");
  call.require(along != batch, "seq_axis and batch_axis must be different axes");
  require_lengths(call, data.dims[static_cast<size_t>(batch)]);
  return call.input(0);
}

void compute_reverse_sequence(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), lengths = b.input(1);
  const auto& attrs = call.attrs<ReverseSequenceAttrs>();
  size_t along = axis_position(attrs.seq_axis, data.rank());
  size_t batch = axis_position(attrs.batch_axis, data.rank());
  Scalar extent = te::from_dim(data.dim(along));
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar length = te::cast(lengths({i[batch]}), kInt64);
    Scalar fits = te::fail_unless(length >= 0 && length <= extent, length,
                                  "a length is negative or exceeds the axis");
    Scalar at = te::select(i[along] < fits, fits - 1 - i[along], i[along]);
    return data(te::replace(i, along, at));
  }));
}

TypeRef infer_sequence_mask(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  int64_t axis = normalize_axis(call, call.attrs<SequenceMaskAttrs>().axis, data.rank());
  call.require(axis <= 1, "axis must be 0 or 1, found " + std::to_string(axis));
  require_lengths(call, data.dims[static_cast<size_t>(1 - axis)]);
  return call.input(0);
}

void compute_sequence_mask(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), lengths = b.input(1);
  const auto& attrs = call.attrs<SequenceMaskAttrs>();
  size_t axis = axis_position(attrs.axis, data.rank());
  Scalar mask = te::cast(te::constant(attrs.mask_value, kFloat64), data.dtype());
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar length = te::cast(lengths({i[1 - axis]}), kInt64);
    return te::select(i[axis] < length, data(i), mask);
  }));
}

void compute_trilu(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), k = b.input(1);
  bool upper = call.attrs<TriluAttrs>().upper;
  size_t column = data.rank() - 1;
  Scalar diagonal = te::cast(k({}), kInt64);
  Scalar zero = te::cast(te::index_constant(0), data.dtype());
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar above = i[column] - i[column - 1];
    return te::select(upper ? above >= diagonal : above <= diagonal, data(i), zero);
  }));
}

// Diagonal k of rows × columns begins at row max(-k, 0) and has so many elements.
Dim diagonal_length(Dim rows, Dim columns, int64_t k) {
  return max(min(rows + std::min<int64_t>(k, 0), columns - std::max<int64_t>(k, 0)), Dim(0));
}
Dim longest_diagonal(Dim rows, Dim columns, const MatrixSetDiagAttrs& attrs) {
  // The one next to the main diagonal, of those asked for.
  int64_t k = attrs.k1 > 0 ? attrs.k1 : attrs.k2 < 0 ? attrs.k2 : 0;
  return diagonal_length(rows, columns, k);
}

TypeRef infer_matrix_set_diag(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0), diagonal = call.tensor(1);
  const auto& attrs = call.attrs<MatrixSetDiagAttrs>();
  constexpr int64_t kFar = int64_t{1} << 40;
  std::string found = ", found " + std::to_string(attrs.k1) + " and " + std::to_string(attrs.k2);
  call.require(attrs.k1 <= attrs.k2, "k1 must not be above k2" + found);
  call.require(-kFar <= attrs.k1 && attrs.k2 <= kFar, "k1 and k2 must lie within 2^40" + found);
  size_t batch = data.rank() - 2;
  Dim rows = data.dims[batch], columns = data.dims[batch + 1];
  bool several = attrs.k1 < attrs.k2;
  std::vector<Dim> wanted(data.dims.begin(),
                          data.dims.begin() + static_cast<std::ptrdiff_t>(batch));
  if (several) wanted.emplace_back(attrs.k2 - attrs.k1 + 1);
  wanted.push_back(longest_diagonal(rows, columns, attrs));
  std::string message = "diagonal must be " + shape_str(wanted) + " for diagonals " +
                        std::to_string(attrs.k1) + " to " + std::to_string(attrs.k2) + " of " +
                        shape_str(data.dims) + ", found " + shape_str(diagonal.dims);
  call.require(diagonal.rank() == wanted.size(), message);
  for (size_t k = 0; k < wanted.size(); ++k)
    call.require_equal(diagonal.dims[k], wanted[k], message);
  return call.input(0);
}

void compute_matrix_set_diag(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), diagonal = b.input(1);
  const auto& attrs = call.attrs<MatrixSetDiagAttrs>();
  size_t batch = data.rank() - 2;
  Scalar rows = te::from_dim(data.dim(batch)), columns = te::from_dim(data.dim(batch + 1));
  Scalar longest = te::from_dim(longest_diagonal(data.dim(batch), data.dim(batch + 1), attrs));
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar row = i[batch], column = i[batch + 1], k = column - row;
    Scalar zero = te::index_constant(0);
    Scalar place = te::min(row, column);  // along the diagonal
    // Diagonals that are aligned right begin later by their difference from the longest.
    Scalar length = te::min(rows + te::min(k, zero), columns - te::max(k, zero));
    auto aligned = [&](bool right) { return right ? place + longest - length : place; };
    Scalar at = attrs.super_diag_right_align == attrs.sub_diag_right_align
                    ? aligned(attrs.super_diag_right_align)
                    : te::select(k >= 0, aligned(attrs.super_diag_right_align),
                                 aligned(attrs.sub_diag_right_align));
    std::vector<Scalar> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
    if (attrs.k1 < attrs.k2) index.push_back(te::index_constant(attrs.k2) - k);
    index.push_back(at);
    return te::select(k >= attrs.k1 && k <= attrs.k2, diagonal(index), data(i));
  }));
}

RELAY_OP("reverse_sequence")
    .doc("The first elements of each sequence in the opposite order, as many as its length says.")
    .input("data", "Sequences.", tensor('T').rank(2, kAnyRank))
    .input("seq_lengths", "A length for each sequence.", tensor(kIndices).rank(1))
    .output("result", "The sequences.", tensor('T'))
    .attrs<ReverseSequenceAttrs>()
    .relation(infer_reverse_sequence)
    .example("fn (%x: Tensor[(2, 4), int8], %n: Tensor[(2), int32]) { reverse_sequence(%x, %n) }",
             "[[1, 2, 3, 4], [5, 6, 7, 8]]", "[3, 1]")
    .level(3)
    .compute(compute_reverse_sequence);

RELAY_OP("sequence_mask")
    .doc("Elements of each sequence past its length set to a value.")
    .input("data", "Sequences.", tensor('T', kNumbers).rank(2, kAnyRank))
    .input("valid_length", "A length for each sequence.", tensor(kIntegers).rank(1))
    .output("result", "The sequences.", tensor('T'))
    .attrs<SequenceMaskAttrs>()
    .relation(infer_sequence_mask)
    .example(
        "fn (%x: Tensor[(2, 3), int8], %n: Tensor[(2), int32]) { sequence_mask(%x, %n, axis=1) }",
        "[[1, 2, 3], [4, 5, 6]]", "[2, 1]")
    .level(10)
    .compute(compute_sequence_mask);

RELAY_OP("trilu")
    .doc("The upper or lower triangle of matrices, zeros elsewhere.")
    .input("data", "Matrices.", tensor('T').rank(2, kAnyRank))
    .input("k",
           "The diagonal that belongs to the triangle as well: a scalar; 0 is the main one, "
           "positive ones are above it.",
           tensor(kIndices).rank(0))
    .output("result", "The triangles.", tensor('T'))
    .attrs<TriluAttrs>()
    .relation([](const RelationCall& call) { return call.input(0); })
    .example("fn (%x: Tensor[(2, 3), int8]) { trilu(%x, 1) }", "[[1, 2, 3], [4, 5, 6]]")
    .level(3)
    .compute(compute_trilu);

RELAY_OP("matrix_set_diag")
    .doc("Matrices with diagonals k1 to k2 replaced.")
    .input("input", "Matrices.", tensor('T').rank(2, kAnyRank))
    .input("diagonal",
           "The diagonals, from k2 down to k1, each as long as the longest of them; without their "
           "axis if there is one.",
           tensor('T').rank(1, kAnyRank))
    .output("result", "The matrices.", tensor('T'))
    .attrs<MatrixSetDiagAttrs>()
    .relation(infer_matrix_set_diag)
    .example("fn (%x: Tensor[(2, 3), int8], %d: Tensor[(2), int8]) { matrix_set_diag(%x, %d) }",
             "[[1, 2, 3], [4, 5, 6]]", "[9, 8]")
    .level(10)
    .compute(compute_matrix_set_diag);

}  // namespace
}  // namespace relay
