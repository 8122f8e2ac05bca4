// Searching operators. The kernels are in relay/runtime/kernels/.
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/sort/positions.h>
#include <relay/op/sort/sort_attrs.h>

namespace relay {
namespace {

TypeRef infer_argwhere(const RelationCall& call) {
  te::TensorInfo condition = call.tensor(0);
  DType dtype = position_dtype(call, call.attrs<ArgwhereAttrs>().dtype);
  for (Dim extent : condition.dims) require_positions(call, extent, dtype);
  Dim dims[] = {Dim::any(), static_cast<int64_t>(condition.rank())};
  return TensorType::make(dims, dtype);
}

TypeRef infer_unique(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<UniqueAttrs>();
  DType dtype = position_dtype(call, attrs.dtype);
  require_positions(call, data.dims[0] + 1, dtype);
  Dim counted[] = {Dim::any()}, one[] = {1};
  TypeRef numbers = TensorType::make(counted, dtype);
  std::vector<TypeRef> results = {TensorType::make(counted, data.dtype), numbers,
                                  TensorType::make(data.dims, dtype), TensorType::make(one, dtype)};
  if (attrs.return_counts) results.push_back(numbers);
  return TupleType::make(std::move(results));
}

TypeRef infer_searchsorted(const RelationCall& call) {
  te::TensorInfo sequence = call.tensor(0), values = call.tensor(1);
  DType dtype = position_dtype(call, call.attrs<SearchSortedAttrs>().dtype);
  std::string both = call.input(0)->str() + " and " + call.input(1)->str();
  size_t rank = sequence.rank();
  if (rank > 1) {
    std::string message =
        "one sequence for each row of values needs the same leading dimensions, found " + both;
    call.require(values.rank() == rank, message);
    for (size_t d = 0; d + 1 < rank; ++d)
      call.require_equal(sequence.dims[d], values.dims[d], message);
  }
  require_positions(call, sequence.dims[rank - 1] + 1, dtype);
  return TensorType::make(values.dims, dtype);
}

RELAY_OP("argwhere")
    .doc(
        "The positions of the elements other than 0 in row-major order, one a row: how many there "
        "are is known only when it has run. Not-a-number is not 0.")
    .input("condition", "Tensor.", tensor())
    .output("positions", "Matrix (count, rank of the condition).", tensor(kIndices))
    .example("fn (%x: Tensor[(2, 3), float32]) { argwhere(%x) }", "[[0, 1, 0], [2, 0, 3]]")
    .attrs<ArgwhereAttrs>()
    .relation(infer_argwhere)
    .level(10)
    .column(costs(), [](const OpCall& call) { return kernel_cost(call, elements_of(call)); })
    .kernel("argwhere", [](const OpCall&) { return KernelParams(); });

RELAY_OP("unique")
    .doc(
        "The different elements of a vector, where each of them is first, for each element the "
        "number of its value among them, how many they are, and how often each occurs. They come "
        "in order, or as they appear. -0 and 0 are equal (the first is taken), and so are all "
        "not-a-numbers, which come last.")
    .input("data", "Vector.", tensor('T').rank(1))
    .output("values", "The different elements.", tensor('T'))
    .output("positions", "First position of each.", tensor(kIndices).rank(1))
    .output("inverse", "For each element the number of its value.", tensor(kIndices).rank(1))
    .output("number", "Number of values, as a vector of one.", tensor(kIndices).rank(1))
    .output("counts", "Number of times that each occurs, with return_counts.",
            tensor(kIndices).rank(1))
    .example("fn (%x: Tensor[(5), int32]) { unique(%x, return_counts=True) }", "[3, 1, 3, 2, 1]")
    .attrs<UniqueAttrs>()
    .relation(infer_unique)
    .level(3)
    .column(costs(), [](const OpCall& call) { return sort_cost(call, 0); })
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .kernel("unique",
            [](const OpCall& call) -> KernelParams {
              return {{"sorted", call.attrs<UniqueAttrs>().sorted}};
            })
    .no_gradient("only the run knows how many values there are");

RELAY_OP("searchsorted")
    .doc(
        "For each value the first place in the ordered sequence whose element is not less; with "
        "right, the first whose element is greater. Not-a-number is greater than all numbers. "
        "Sequences of rank above one: one for each row of values.")
    .input("sorted_sequence", "Vector, or rows, in rising order.",
           tensor('T', kNumbers).rank(1, kAnyRank))
    .input("values", "Tensor of any shape; of the sequence's rank if that is above one.",
           tensor('T'))
    .output("positions", "Places in the sequence, of the values' shape.", tensor(kIndices))
    .example("fn (%s: Tensor[(4), float32], %x: Tensor[(2), float32]) { searchsorted(%s, %x) }",
             "[1, 2, 2, 5]", "[2, 6]")
    .attrs<SearchSortedAttrs>()
    .relation(infer_searchsorted)
    .level(6)
    .column(costs(),
            [](const OpCall& call) {
              return kernel_cost(call, elements_of(call, 1) * log2_of(call.tensor(0).dims.back()));
            })
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .kernel("searchsorted", [](const OpCall& call) -> KernelParams {
      return {{"right", call.attrs<SearchSortedAttrs>().right}};
    });

}  // namespace
}  // namespace relay
