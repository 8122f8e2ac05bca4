[
  (block)
  (data_type)
  (match)
  (arguments)
  (tuple)
  (list)
  (dictionary)
  (block_comment)
  (metadata)
] @fold
