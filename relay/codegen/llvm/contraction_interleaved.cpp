// Contractions: results of rows that lie between each other's, as transposed convolutions have
// them.
#include <algorithm>

#include <relay/codegen/llvm/contraction_emitter.h>
#include <relay/codegen/llvm/memory_access.h>

namespace relay::codegen {

std::vector<ContractionEmitter::LinePlace> ContractionEmitter::line_places(size_t vectors,
                                                                           Value* first_column) {
  std::vector<LinePlace> places;
  if (plan_.interleave == 1) return places;
  const std::vector<te::Axis>& axes = plan_.columns.axes;
  auto line = std::find_if(axes.rbegin(), axes.rend(),
                           [](const te::Axis& axis) { return !axis.extent.is_int(1); });
  const Dim length = line->extent;
  const bool divides = floor_mod(length, plan_.lanes).is_int(0);
  for (size_t v = 0; v < vectors; ++v) {
    LinePlace place;
    place.column = add(first_column, n(static_cast<int64_t>(v) * plan_.lanes));
    place.length = dim(max(length, 1));
    const std::vector<Value*> values = split(plan_.columns, place.column);
    place.in_line = values[static_cast<size_t>(std::distance(line, axes.rend()) - 1)];
    place.offset = part_of(*plan_.out_offset, plan_.columns, values);
    if (!divides) {
      Value* end = add(place.in_line, n(plan_.lanes));
      place.whole = b_.CreateICmpSLE(end, place.length);
    }
    places.push_back(place);
  }
  return places;
}

void ContractionEmitter::store_interleaved(std::vector<Value*> rows, Value* first_row,
                                           const LinePlace& place) {
  const DType type = f_.buffers[static_cast<size_t>(c_.out)].dtype;
  const te::Affine& sum = *plan_.out_offset;
  const llvm::Align align(type.size());
  const auto together = static_cast<int64_t>(rows.size());
  const std::vector<Value*> vectors = interleave(b_, std::move(rows));
  Value* row_part = add(batch_part(sum), part_of(sum, plan_.rows, first_row));
  auto store_whole = [&] {
    Value* at = element(f_.buffer(c_.out), type, add(row_part, place.offset));
    for (size_t k = 0; k < vectors.size(); ++k) {
      Value* to = element(at, type, n(static_cast<int64_t>(k) * plan_.lanes));
      f_.annotate(b_.CreateAlignedStore(vectors[k], to, align), c_.out);
    }
  };
  if (place.whole == nullptr) return store_whole();
  f_.emit_if(place.whole, store_whole);
  f_.emit_if(b_.CreateNot(place.whole), [&] {
    // Lines end within the vector: what belongs to each of them, by way of memory.
    llvm::Type* vector = vectors[0]->getType();
    Value* turned = f_.alloca_register(llvm::ArrayType::get(vector, vectors.size()), "turned");
    for (size_t k = 0; k < vectors.size(); ++k)
      b_.CreateAlignedStore(vectors[k], b_.CreateConstGEP1_64(vector, turned, k), align);
    llvm::Type* group = widen_type(memory_type(f_.context, type), static_cast<unsigned>(together));
    Value* count = least(b_.CreateSub(dim(plan_.columns.extent), place.column), n(plan_.lanes));
    Value* last = b_.CreateSub(add(place.in_line, count), n(1));
    f_.emit_loop(n(0), add(b_.CreateUDiv(last, place.length), n(1)), n(1), [&](Value* line) {
      Value* begin = b_.CreateSub(mul(line, place.length), place.in_line);
      Value* end = least(add(begin, place.length), count);
      begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, n(0));
      Value* column = add(place.column, begin);
      Value* offset = add(row_part, part_of(sum, plan_.columns, column));
      Value* to = element(f_.buffer(c_.out), type, b_.CreateSub(offset, mul(begin, n(together))));
      f_.emit_loop(begin, end, n(1), [&](Value* lane) {
        Value* at = mul(lane, n(together));
        Value* from = b_.CreateGEP(memory_type(f_.context, type), turned, at);
        Value* elements = b_.CreateAlignedLoad(group, from, align);
        f_.annotate(b_.CreateAlignedStore(elements, element(to, type, at), align), c_.out);
      });
    });
  });
}

}  // namespace relay::codegen
