[
  (block)
  (data_type)
  (match)
  (arguments)
  (parameters)
  (tuple)
  (list)
  (dictionary)
] @indent.begin

["}" ")" "]"] @indent.branch @indent.end
(block_comment) @indent.ignore
