"""The programs of GradBench's evaluations in Relay, for given extents."""


def tensor(*shape, dtype="float64"):
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


HELLO = "def @f(%x: float64) -> float64 { %x * %x }"


def llsq(n, m):
    """Powers of t are running products of (1, t, t, …)."""
    return f"""
def @f(%x: {tensor(m)}, %t: {tensor(n)}) -> float64 {{
  %column = expand_dims(%t, axis=1)
  %factors = concatenate((ones_like(%column), broadcast_to(%column, shape=[{n}, {m - 1}])), axis=1)
  %powers = cumprod(%factors, axis=1)
  %rest = sign(%t) - squeeze(nn.dense(%powers, expand_dims(%x, axis=0), units=None), axis=[1])
  0.5f64 * sum(%rest * %rest)
}}"""


# The shift of log Σ exp is rounded: any number near the largest will do, and one that is rounded has no gradient.
def lse(n):
    return f"""
def @f(%x: {tensor(n)}) -> float64 {{
  %top = floor(max(%x))
  log(sum(exp(%x - %top))) + %top
}}"""


def ode(n, steps):
    """Runge and Kutta's method: y' = x · (1, y without its last element)."""
    return f"""
def @slope(%x: {tensor(n)}, %y: {tensor(n)}) -> {tensor(n)} {{
  %x * concatenate((ones(shape=[1], dtype="float64"), strided_slice(%y, begin=[0], end=[{n - 1}])), axis=0)
}}
def @steps(%i: int32, %x: {tensor(n)}, %y: {tensor(n)}) -> {tensor(n)} {{
  if (%i < {steps}) {{
    let %k1 = @slope(%x, %y);
    let %k2 = @slope(%x, %y + {1 / steps!r}f64 * %k1);
    let %k3 = @slope(%x, %y + {1 / steps!r}f64 * %k2);
    let %k4 = @slope(%x, %y + {2 / steps!r}f64 * %k3);
    @steps(%i + 1, %x, %y + {2 / steps / 6!r}f64 * (%k1 + 2f64 * %k2 + 2f64 * %k3 + %k4))
  }} else {{
    %y
  }}
}}
def @f(%x: {tensor(n)}) -> {tensor(n)} {{ @steps(0, %x, zeros_like(%x)) }}
def @last(%x: {tensor(n)}) -> float64 {{ squeeze(strided_slice(@f(%x), begin=[{n - 1}], end=[{n}]), axis=[0]) }}
"""


def det(size, levels):
    """Expansion by minors, each minor once; the tables of places and signs are parameters. Gives text and tables."""
    params, body, tables = [], [f"  %m0 = take(%a, {size - 1}, axis=0)"], []
    for r, (columns, below, signs) in enumerate(levels):
        sets, width = columns.shape
        for name, table, dtype in (("c", columns, "int32"), ("b", below, "int32"), ("s", signs, "float64")):
            params.append(f"%{name}{r}: {tensor(sets, width, dtype=dtype)}")
            tables.append(table.astype(dtype))
        row = f"take(take(%a, {size - 2 - r}, axis=0), %c{r}, axis=0)"
        body.append(f"  %m{r + 1} = sum(%s{r} * {row} * take(%m{r}, %b{r}, axis=0), axis=[1])")
    body.append(f"  squeeze(%m{len(levels)}, axis=[0])")
    text = f"def @f({', '.join([f'%a: {tensor(size, size)}', *params])}) -> float64 {{\n" + "\n".join(body) + "\n}"
    return text, tables


def gmm(d, k, n, constant, gamma, m):
    lower = d * (d - 1) // 2
    return f"""
def @log_sum_exp(%x: {tensor("r", "c")}) -> {tensor("r")} {{
  %top = floor(max(%x, axis=[1], keepdims=True))
  log(sum(exp(%x - %top), axis=[1])) + squeeze(%top, axis=[1])
}}
def @f(%alpha: {tensor(k)}, %mu: {tensor(k, d)}, %q: {tensor(k, d)}, %l: {tensor(k, lower)}, %x: {tensor(n, d)},
       %places: {tensor(d * d, dtype="int32")}) -> float64 {{
  %lower = reshape(take(concatenate((%l, zeros(shape=[{k}, 1], dtype="float64")), axis=1), %places, axis=1), newshape=[{k}, {d}, {d}])
  %diagonal = exp(%q)
  %centred = expand_dims(%x, axis=0) - expand_dims(%mu, axis=1)
  %turned = expand_dims(%diagonal, axis=1) * %centred + nn.batch_matmul(%centred, %lower, transpose_b=True)
  %main = expand_dims(%alpha + sum(%q, axis=[1]), axis=1) - 0.5f64 * sum(%turned * %turned, axis=[2])
  %prior = {0.5 * gamma**2!r}f64 * (sum(%diagonal * %diagonal) + sum(%l * %l)) - {float(m)!r}f64 * sum(%q)
  %constant = {constant!r}f64
  %constant + sum(@log_sum_exp(transpose(%main))) - {n}f64 * sum(@log_sum_exp(expand_dims(%alpha, axis=0))) - %prior
}}"""


def ba(n, m, p):
    """Errors of observations of cameras and points that are gathered already, and sums of the first and of the second errors."""

    def cut(begin, end):
        return f"strided_slice(%cam, begin=[0, {begin}], end=[{p}, {end}])"

    params = f"%cam: {tensor(p, 11)}, %x: {tensor(p, 3)}, %w: {tensor(p)}, %feat: {tensor(p, 2)}"
    one = 'sum(strided_slice(@errors(%cam, %x, %w, %feat), begin=[0, {0}], end=[{1}, {2}]))'
    return f"""
def @turned(%a: {tensor(p, 3)}) -> {tensor(p, 3)} {{
  concatenate((strided_slice(%a, begin=[0, 1], end=[{p}, 3]), strided_slice(%a, begin=[0, 0], end=[{p}, 1])), axis=1)
}}
def @cross(%a: {tensor(p, 3)}, %b: {tensor(p, 3)}) -> {tensor(p, 3)} {{
  %a1 = @turned(%a)
  %b1 = @turned(%b)
  %a1 * @turned(%b1) - @turned(%a1) * %b1
}}
def @errors({params}) -> {tensor(p, 2)} {{
  %rotation = {cut(0, 3)}
  %away = %x - {cut(3, 6)}
  %theta = sqrt(sum(%rotation * %rotation, axis=[1], keepdims=True))
  %axis = %rotation / %theta
  %c = cos(%theta)
  %along = sum(%axis * %away, axis=[1], keepdims=True)
  %turned = %away * %c + @cross(%axis, %away) * sin(%theta) + %axis * %along * (1f64 - %c)
  %flat = strided_slice(%turned, begin=[0, 0], end=[{p}, 2]) / strided_slice(%turned, begin=[0, 2], end=[{p}, 3])
  %square = sum(%flat * %flat, axis=[1], keepdims=True)
  %distorted = %flat * (1f64 + {cut(9, 10)} * %square + {cut(10, 11)} * %square * %square)
  expand_dims(%w, axis=1) * (%distorted * {cut(6, 7)} + {cut(7, 9)} - %feat)
}}
def @first({params}) -> float64 {{ {one.format(0, p, 1)} }}
def @second({params}) -> float64 {{ {one.format(1, p, 2)} }}
def @objective({ba_parameters(n, m, p)}) -> ({tensor(p, 2)}, {tensor(p)}) {{
  (@errors(take(%cams, %of_cam, axis=0), take(%points, %of_point, axis=0), %w, %feat), 1f64 - %w * %w)
}}
"""


def ba_parameters(n, m, p):
    indices = f"%of_cam: {tensor(p, dtype='int32')}, %of_point: {tensor(p, dtype='int32')}"
    return f"%cams: {tensor(n, 11)}, %points: {tensor(m, 3)}, %w: {tensor(p)}, %feat: {tensor(p, 2)}, {indices}"


def ba_jacobian(n, m, p):
    """Each error depends on its own observation alone: the slopes of the two sums are the rows."""

    def row(name):
        return f"concatenate((%{name}.0, %{name}.1, expand_dims(%{name}.2, axis=1)), axis=1)"

    return f"""
def @jacobian({ba_parameters(n, m, p)}) -> ({tensor(p, 15)}, {tensor(p, 15)}, {tensor(p)}) {{
  let %cam = take(%cams, %of_cam, axis=0);
  let %x = take(%points, %of_point, axis=0);
  let %first = @first_slope(%cam, %x, %w, %feat);
  let %second = @second_slope(%cam, %x, %w, %feat);
  ({row("first")}, {row("second")}, -2f64 * %w)
}}"""


def lstm(layers, count, b):
    """The state is a tensor (layers, b) of what is hidden and one of the cells; a turn of the loop reads one line of the sequence."""
    gates, state = [], tensor(layers, b)
    for i in range(layers):
        below = f"%out{i}"
        gates.append(f"""
    let %w{i} = reshape(take(%main, {2 * i}, axis=0), newshape=[4, {b}]);
    let %v{i} = reshape(take(%main, {2 * i + 1}, axis=0), newshape=[4, {b}]);
    let %h{i} = take(%hidden, {i}, axis=0);
    let %forget{i} = sigmoid({below} * take(%w{i}, 0, axis=0) + take(%v{i}, 0, axis=0));
    let %in{i} = sigmoid(%h{i} * take(%w{i}, 1, axis=0) + take(%v{i}, 1, axis=0));
    let %shown{i} = sigmoid({below} * take(%w{i}, 2, axis=0) + take(%v{i}, 2, axis=0));
    let %change{i} = tanh(%h{i} * take(%w{i}, 3, axis=0) + take(%v{i}, 3, axis=0));
    let %c{i} = take(%cell, {i}, axis=0) * %forget{i} + %in{i} * %change{i};
    let %out{i + 1} = %shown{i} * tanh(%c{i});""")
    hidden = ", ".join(f"expand_dims(%out{i + 1}, axis=0)" for i in range(layers))
    cell = ", ".join(f"expand_dims(%c{i}, axis=0)" for i in range(layers))
    return f"""
def @turns(%t: int32, %total: float64, %hidden: {state}, %cell: {state}, %main: {tensor(2 * layers, 4 * b)}, %extra: {tensor(3, b)},
           %sequence: {tensor(count, b)}) -> float64 {{
  if (%t < {count - 1}) {{
    let %out0 = take(%sequence, %t, axis=0) * take(%extra, 0, axis=0);{"".join(gates)}
    let %predicted = %out{layers} * take(%extra, 1, axis=0) + take(%extra, 2, axis=0);
    let %scores = %predicted - log(sum(exp(%predicted)) + 2f64);
    let %following = take(%sequence, %t + 1, axis=0);
    @turns(%t + 1, %total + sum(%following * %scores), concatenate(({hidden}), axis=0), concatenate(({cell}), axis=0), %main, %extra, %sequence)
  }} else {{
    %total
  }}
}}
def @f(%main: {tensor(2 * layers, 4 * b)}, %extra: {tensor(3, b)}, %state: {tensor(2 * layers, b)}, %sequence: {tensor(count, b)}) -> float64 {{
  %hidden = strided_slice(%state, begin=[0, 0], end=[{2 * layers}, {b}], strides=[2, 1])
  %cell = strided_slice(%state, begin=[1, 0], end=[{2 * layers}, {b}], strides=[2, 1])
  negative(@turns(0, 0f64, %hidden, %cell, %main, %extra, %sequence)) / {float((count - 1) * b)!r}f64
}}"""


def kmeans(n, d, k):
    return f"""
def @f(%centroids: {tensor(k, d)}, %points: {tensor(n, d)}) -> float64 {{
  %squares = expand_dims(sum(%points * %points, axis=[1]), axis=1) + sum(%centroids * %centroids, axis=[1])
  sum(min(%squares - 2f64 * nn.dense(%points, %centroids, units=None), axis=[1]))
}}"""


def kmeans_slope_sum(n, d, k):
    return f"def @slope_sum(%centroids: {tensor(k, d)}, %points: {tensor(n, d)}) -> float64 {{ sum(@slope(%centroids, %points)) }}"


def kmeans_dir(n, d, k):
    return f"""
def @dir(%centroids: {tensor(k, d)}, %points: {tensor(n, d)}) -> {tensor(k, d)} {{
  @slope(%centroids, %points) / @curve(%centroids, %points).1
}}"""


def descent(name, n, value, slope, others=""):
    """GradBench's descent from %x: `value` and `slope` are calls in %x, and `others` declares what else they read."""
    names = "".join(f", {part.split(':')[0].strip()}" for part in others.split(";") if part)
    declared = "".join(f", {part.strip()}" for part in others.split(";") if part)

    def norm(v):
        return f"sqrt(sum({v} * {v}))"

    def at(text, x):
        return text.replace("%x", x)

    return f"""
def @{name}.turn(%x: {tensor(n)}, %f: float64, %g: {tensor(n)}, %eta: float64, %i: int32{declared}) -> {tensor(n)} {{
  if ({norm("%g")} <= 1e-5f64) {{
    %x
  }} else if (%i == 10) {{
    @{name}.turn(%x, %f, %g, %eta * 2f64, 0{names})
  }} else {{
    let %moved = %x - %eta * %g;
    let %way = %moved - %x;
    if ({norm("%way")} <= 1e-5f64) {{
      %x
    }} else {{
      let %value = {at(value, "%moved")};
      if (%value < %f) {{
        @{name}.turn(%moved, %value, {at(slope, "%moved")}, %eta, %i + 1{names})
      }} else {{
        @{name}.turn(%x, %f, %g, %eta / 2f64, 0{names})
      }}
    }}
  }}
}}
def @{name}(%x: {tensor(n)}{declared}) -> {tensor(n)} {{
  @{name}.turn(%x, {value}, {slope}, 1e-5f64, 0{names})
}}"""


POTENTIAL = """
def @potential(%x: Tensor[(2), float64], %w: Tensor[(1), float64]) -> float64 {
  let %a = %x - concatenate((Constant(10, (1), float64), 10f64 - %w), axis=0);
  let %b = %x - concatenate((Constant(10, (1), float64), Constant(0, (1), float64)), axis=0);
  1f64 / sqrt(sum(%a * %a)) + 1f64 / sqrt(sum(%b * %b))
}"""
FLIGHT = """
def @fly(%x: Tensor[(2), float64], %speed: Tensor[(2), float64], %w: Tensor[(1), float64]) -> float64 {
  let %push = negative(@away(%x, %w));
  let %next = %x + 0.1f64 * %speed;
  let %height = take(%next, 1, axis=0);
  if (%height <= 0f64) {
    let %crossing = take(%next, 0, axis=0) - %height / take(%speed, 1, axis=0) * take(%speed, 0, axis=0);
    %crossing * %crossing
  } else {
    @fly(%next, %speed + 0.1f64 * %push, %w)
  }
}
def @error(%w: Tensor[(1), float64]) -> float64 {
  let %from = concatenate((Constant(0, (1), float64), Constant(8, (1), float64)), axis=0);
  @fly(%from, concatenate((Constant(0.75, (1), float64), Constant(0, (1), float64)), axis=0), %w)
}"""
SADDLE = """
def @f(%x: Tensor[(2), float64], %y: Tensor[(2), float64]) -> float64 { sum(%x * %x) - sum(%y * %y) }
def @down(%y: Tensor[(2), float64], %x: Tensor[(2), float64]) -> float64 { negative(@f(%x, %y)) }"""
OVER = """
def @over(%x: Tensor[(2), float64], %start: Tensor[(2), float64]) -> float64 { @f(%x, @highest(%start, %x)) }"""
