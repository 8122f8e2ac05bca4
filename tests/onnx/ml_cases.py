"""Operators of ai.onnx.ml, as converters of scikit-learn, LightGBM and XGBoost write them."""

import zlib

import numpy as np
from onnx import numpy_helper

from recording import Case, contrib, form, ml, numbers


class Trees:
    """Random trees: each node is a test of a feature, or a leaf, as deep as they come."""

    def __init__(self, name, trees=5, depth=4, features=4, modes=("BRANCH_LEQ",), missing=False, first_target=0, targets=1,
                 weights=1, low=-1.0, per_tree=False):
        random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "hitrates", "modes", "truenodeids",
                                          "falsenodeids", "missing_value_tracks_true")}
        self.leaves = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
        for tree in range(trees):
            count = [0]

            def grow(left):
                number = count[0]
                count[0] += 1
                leaf = left == 0 or (left < depth and random.random() < 0.2)
                place = len(self.nodes["treeids"])
                for key, value in (("treeids", tree), ("nodeids", number), ("featureids", 0), ("values", 0.0), ("hitrates", 1.0),
                                   ("modes", "LEAF"), ("truenodeids", 0), ("falsenodeids", 0), ("missing_value_tracks_true", 0)):
                    self.nodes[key].append(value)
                if leaf:
                    first = tree % targets if per_tree else random.integers(targets)
                    for target in range(weights):
                        self.leaves["treeids"].append(tree)
                        self.leaves["nodeids"].append(number)
                        self.leaves["ids"].append(first_target + int(first + target) % targets)
                        self.leaves["weights"].append(float(np.float32(random.uniform(low, 1))))
                    return number
                self.nodes["featureids"][place] = int(random.integers(features))
                self.nodes["values"][place] = float(np.float32(random.integers(-2, 3) / 4))
                self.nodes["modes"][place] = str(random.choice(modes))
                self.nodes["missing_value_tracks_true"][place] = int(missing and random.integers(2))
                self.nodes["truenodeids"][place] = grow(left - 1)
                self.nodes["falsenodeids"][place] = grow(left - 1)
                return number

            grow(depth)

    def attributes(self, prefix, double=False):
        result = {f"nodes_{key}": values for key, values in self.nodes.items()}
        result.update({f"{prefix}_{key}": values for key, values in self.leaves.items()})
        if double:
            for key in ("nodes_values", "nodes_hitrates", f"{prefix}_weights"):
                result[f"{key}_as_tensor"] = numpy_helper.from_array(np.array(result.pop(key)))
        return result


def rows(count=9, features=4, missing=False, dtype=np.float32):
    """Features on and between the thresholds."""
    x = np.random.default_rng(7).integers(-5, 6, (count, features)).astype(dtype) / 8
    if missing:
        x[::2, 1] = np.nan
        x[1::3, 2] = np.nan
    return x


def tree_regressors():
    def case(name, trees, x=None, **attrs):
        ml(f"trees_{name}", "TreeEnsembleRegressor", [rows() if x is None else x], **trees.attributes("target"), **attrs)

    case("plain", Trees("plain"), n_targets=1)
    case("stump", Trees("stump", trees=3, depth=0), n_targets=1)
    case("base", Trees("base"), n_targets=1, base_values=[0.25], post_transform="NONE")
    for aggregate in ("AVERAGE", "MIN", "MAX"):
        case(aggregate, Trees(aggregate), n_targets=1, aggregate_function=aggregate)
        case(f"{aggregate}_targets", Trees(aggregate, targets=3, weights=2), n_targets=3, aggregate_function=aggregate)
    case("targets", Trees("targets", targets=3, weights=3), n_targets=3, base_values=[0.5, -0.25, 0.125])
    case("target_per_tree", Trees("per tree", trees=6, targets=3, per_tree=True), n_targets=3)
    case("uneven_targets", Trees("uneven", trees=7, targets=3, per_tree=True), n_targets=4)
    case("missing", Trees("missing", missing=True), rows(missing=True), n_targets=1)
    case("missing_false", Trees("missing_false"), rows(missing=True), n_targets=1)
    modes = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for mode in modes:
        case(mode, Trees(mode, modes=(mode,)), n_targets=1)
    case("modes", Trees("modes", modes=modes), n_targets=1)
    case("modes_missing", Trees("modes", modes=modes, missing=True), rows(missing=True), n_targets=1)
    case("double", Trees("double"), rows(dtype=np.float64), n_targets=1)
    case("deep", Trees("deep", trees=1, depth=1), n_targets=1)
    case("probit", Trees("probit", trees=1, low=0.1), n_targets=1, post_transform="PROBIT")
    ml("trees_double_tensors", "TreeEnsembleRegressor", [rows(dtype=np.float64)], n_targets=1,
       **Trees("double").attributes("target", double=True))
    deep = Trees("chain", trees=1, depth=0)
    deep.nodes = {key: [] for key in deep.nodes}
    deep.leaves = {key: [] for key in deep.leaves}
    for level in range(40):
        for number, mode in ((2 * level, "BRANCH_LEQ" if level < 39 else "LEAF"), (2 * level + 1, "LEAF")):
            for key, value in (("treeids", 0), ("nodeids", number), ("featureids", level % 4), ("values", -1 + level / 16),
                               ("hitrates", 1.0), ("modes", mode), ("truenodeids", 2 * level + 1),
                               ("falsenodeids", 2 * level + 2), ("missing_value_tracks_true", 0)):
                deep.nodes[key].append(value)
            if mode == "LEAF":
                for key, value in (("treeids", 0), ("nodeids", number), ("ids", 0), ("weights", float(number))):
                    deep.leaves[key].append(value)
    deep.nodes = {key: values[:79] for key, values in deep.nodes.items()}
    keep = [k for k, number in enumerate(deep.leaves["nodeids"]) if number < 79]
    deep.leaves = {key: [values[k] for k in keep] for key, values in deep.leaves.items()}
    case("chain", deep, n_targets=1)


def tree_classifiers():
    def case(name, trees, labels=None, x=None, **attrs):
        ml(f"classes_{name}", "TreeEnsembleClassifier", [rows() if x is None else x], 2, **trees.attributes("class"),
           classlabels_int64s=labels, **attrs)

    def only_scores(name, trees, labels, **attrs):
        # ONNX Runtime takes the second of two classes wherever its score is above 0.
        ml(f"classes_{name}", "TreeEnsembleClassifier", [rows()], 2, shown=[1], **trees.attributes("class"),
           classlabels_int64s=labels, **attrs)

    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
        case(f"three_{transform}", Trees("three", targets=3, weights=3, low=0.05), [0, 1, 2], post_transform=transform)
        only_scores(f"two_{transform}", Trees("two", targets=2, weights=2, low=0.05), [4, -3], post_transform=transform)
        if transform != "PROBIT":  # of which ONNX Runtime leaves a column as it was
            case(f"one_{transform}", Trees("one"), [0, 1], post_transform=transform)
            case(f"positive_{transform}", Trees("positive", trees=1, low=0.01), [7, -2], post_transform=transform)
    case("base", Trees("three", targets=3, weights=3), [5, 6, 7], base_values=[0.5, -1.0, 0.25])
    case("base_one", Trees("one"), [0, 1], base_values=[0.5], post_transform="LOGISTIC")
    # ONNX Runtime has 0 for the first class where all weights are of the second one.
    first = Case("first", "TreeEnsembleClassifier", [rows()], 2, domain="ai.onnx.ml", **Trees("one").attributes("class"),
                 classlabels_int64s=[0, 1], post_transform="LOGISTIC")
    case("second", Trees("one", first_target=1), [0, 1], post_transform="LOGISTIC", expected=first.run())
    case("unsaid", Trees("unsaid", targets=2, weights=1, low=-3.0), [0, 1, 2])
    case("per_tree", Trees("per tree", trees=6, targets=3, per_tree=True), [10, 20, 30], post_transform="SOFTMAX")
    case("double", Trees("three", targets=3, weights=3), [0, 1, 2], rows(dtype=np.float64))
    case("integers", Trees("three", targets=3, weights=3), [0, 1, 2], rows().astype(np.int64) * 8)


def tree_ensembles():
    """The operator of version 5."""
    def case(name, x, splits, features, modes, targets=1, members=None, tracks=None, **attrs):
        # Trees of one node each, whose children are leaves.
        count = len(splits)
        more = {"nodes_splits": numpy_helper.from_array(np.array(splits, x.dtype)),
                "nodes_modes": numpy_helper.from_array(np.array(modes, np.uint8)),
                "leaf_weights": numpy_helper.from_array(numbers(name, 2 * count, dtype=x.dtype))}
        if members:
            more["membership_values"] = numpy_helper.from_array(np.array(members, x.dtype))
        if tracks:
            more["nodes_missing_value_tracks_true"] = tracks
        ml(f"ensemble_{name}", "TreeEnsemble", [x], opset=5, nodes_featureids=features, tree_roots=list(range(count)),
           nodes_truenodeids=list(range(0, 2 * count, 2)), nodes_falsenodeids=list(range(1, 2 * count, 2)),
           nodes_trueleafs=[1] * count, nodes_falseleafs=[1] * count, leaf_targetids=[k % targets for k in range(2 * count)],
           n_targets=targets, more=more, **attrs)

    case("plain", rows(), [0, 0.25, -0.25], [0, 1, 3], [0, 0, 0])
    case("double", rows(dtype=np.float64), [0, 0.25, -0.25], [0, 1, 3], [0, 1, 2], targets=2)
    case("missing", rows(missing=True), [0, 0.25, -0.25, 0], [0, 1, 3, 2], [0, 1, 2, 5], tracks=[1, 0, 1, 0])
    case("members", rows() * 8, [0, 0, 1], [0, 1, 3], [6, 6, 4], members=[2, -1, np.nan, 0, 4, -5, np.nan])
    for aggregate in (0, 2, 3):
        case(f"aggregate_{aggregate}", rows(), [0, 0.25, -0.25], [0, 1, 3], [3, 0, 0], targets=2, aggregate_function=aggregate)


def features():
    x = rows()
    holes = rows(missing=True)
    for norm in ("MAX", "L1", "L2"):
        ml(f"normalizer_{norm}", "Normalizer", [np.vstack([x, np.zeros((1, 4), np.float32)])], norm=norm)
    ml("scaler", "Scaler", [x], offset=[0.5, 1.0, -1.0, 0.0], scale=[2.0, 0.5, 1.0, 4.0])
    ml("scaler_one", "Scaler", [x.astype(np.int64)], offset=[0.5], scale=[2.0])
    ml("binarizer", "Binarizer", [x], threshold=0.25)
    ml("imputer", "Imputer", [holes], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    ml("imputer_zero", "Imputer", [x], imputed_value_floats=[9.0], replaced_value_float=0.0)
    ml("imputer_integers", "Imputer", [(x * 8).astype(np.int64)], imputed_value_int64s=[7, 8, 9, 10], replaced_value_int64=-2)
    ml("vectorizer", "FeatureVectorizer", [x, x[:, :2]], inputdimensions=[4, 2])
    ml("extractor", "ArrayFeatureExtractor", [x, np.array([[2, 0, 0]], np.int64)])
    ml("extractor_vector", "ArrayFeatureExtractor", [x[0], np.array([3], np.int64)], constants=(1,))
    ml("extractor_axes", "ArrayFeatureExtractor", [numbers("x", 2, 3, 4), np.array([1, 3], np.int64)], constants=(1,))
    kinds = np.array([[1, 3], [7, 0]], np.int64)
    ml("one_hot", "OneHotEncoder", [kinds], cats_int64s=[0, 1, 3], zeros=1)
    ml("one_hot_floats", "OneHotEncoder", [kinds.astype(np.float32)], cats_int64s=[7, 1, 3, 0], zeros=0)


def labels():
    keys = np.array([[5, -1, 9], [4, 100, 5]], np.int64)
    ml("labels_integers", "LabelEncoder", [keys], keys_int64s=[9, 4, 5], values_int64s=[90, 40, 50], default_int64=-7)
    ml("labels_floats", "LabelEncoder", [keys], keys_int64s=[9, 4, 5], values_floats=[0.5, 0.25, 3.0])
    given = np.array([0.5, np.nan, -1, 7], np.float32)
    ml("labels_of_floats", "LabelEncoder", [given], keys_floats=[7.0, 0.5], values_int64s=[1, 3])
    ml("labels_tensors", "LabelEncoder", [keys], opset=4,
       more={"keys_tensor": numpy_helper.from_array(np.array([5, 9], np.int64)),
             "values_tensor": numpy_helper.from_array(np.array([1, 2], np.int64)),
             "default_tensor": numpy_helper.from_array(np.array([3], np.int64))})


def words():
    """Operators that ask for strings, which a run gives."""
    given = np.array([["red", "blue"], ["", "rèd"], ["reddish", "green"]], object)
    colours = ["red", "green", "blue", "rèd"]
    ml("words_one_hot", "OneHotEncoder", [given], cats_strings=colours, zeros=1)
    ml("words_one_hot_all", "OneHotEncoder", [given[:1]], cats_strings=colours, zeros=0)
    ml("words_labels", "LabelEncoder", [given], keys_strings=colours, values_int64s=[7, 8, 9, 10], default_int64=-7)
    ml("words_labels_floats", "LabelEncoder", [given], keys_strings=colours + ["red"], values_floats=[0.5, 1.5, 2.5, 3.5, 9.5])
    ml("words_labels_many", "LabelEncoder", [np.array([f"w{k % 700}" for k in range(50, 1000, 9)], object)],
       keys_strings=[f"w{k}" for k in range(500)], values_int64s=list(range(500)))
    ml("words_labels_empty", "LabelEncoder", [given], keys_strings=[""], values_int64s=[1])
    ml("words_extracted", "ArrayFeatureExtractor", [given, np.array([1], np.int64)], constants=(1,),
       then=("LabelEncoder", {"domain": "ai.onnx.ml", "keys_strings": colours, "values_int64s": [7, 8, 9, 10]}))
    form("words_joined", "Concat", [given, given[::-1].astype(object), np.array([["blue"], ["x"], ["y"]], object)], axis=1, constants=(2,),
         then=("OneHotEncoder", {"domain": "ai.onnx.ml", "cats_strings": colours}))
    form("words_equal", "Equal", [given, np.array(["red", "rèd"], object)])
    form("words_equal_constant", "Equal", [np.array(["rèd", "x"], object), given], constants=(0,))
    form("words_chosen", "Where", [given == "", np.array([["none"]], object), given], constants=(1,),
         then=("LabelEncoder", {"domain": "ai.onnx.ml", "keys_strings": colours + ["none"], "values_int64s": [7, 8, 9, 10, 11]}))
    form("words_counted", "TfIdfVectorizer", [given], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
         pool_strings=["red", "blue", "red", "blue", "", "green"], ngram_counts=[0, 2], ngram_indexes=[1, 0, 2, 3])


def tokens():
    """Words that are cut into tokens, which a run gives; a LabelEncoder says which they are."""
    given = np.array(["the cat  sat", "", "ünï a", "a bb\nccc Dd_9d", "x", "the"], object)
    numbered = ("LabelEncoder", {"domain": "ai.onnx.ml", "values_int64s": list(range(12)),
                                 "keys_strings": ["the", "cat", "sat", "ünï", "a", "bb", "c", "#", "\x02", "\x03", "Dd_9d", "ü"]})

    def case(name, given=given, then=numbered, mark=0, mincharnum=1, pad_value="#", **attrs):
        contrib(f"tokens_{name}", "Tokenizer", [given], then=then, mark=mark, mincharnum=mincharnum, pad_value=pad_value, **attrs)

    case("runs", tokenexp="[a-zA-Z0-9_]+")
    case("marked", given.reshape(3, 2), mark=1, tokenexp="[^ \\n]+")
    case("characters", tokenexp=".")
    case("characters_of_class", mark=1, tokenexp="[^a-c\\d]")
    case("separated", separators=[""])
    case("separators", given.reshape(2, 3), mincharnum=3, separators=[" ", "\\n+", "\\."])
    case("words", pad_value="", tokenexp="\\b\\w\\w+\\b")
    case("long", mincharnum=2, tokenexp="\\S{3,}")
    case("none", mark=1, mincharnum=40, tokenexp="\\w+")
    case("counted", given.reshape(6, 1), tokenexp="[a-z]+", then=("LabelEncoder", dict(numbered[1], keys_strings=["#"] + numbered[1]["keys_strings"][:11])))


def linear_models():
    x = rows()
    weights = numbers("weights", 12, low=-2, high=2).tolist()
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        ml(f"linear_{transform}", "LinearClassifier", [x], 2, coefficients=weights, intercepts=[0.5, -0.25, 0.0],
           classlabels_ints=[3, 1, 2], post_transform=transform)
        ml(f"linear_two_{transform}", "LinearClassifier", [x], 2, coefficients=weights[:8], intercepts=[0.5, -0.25],
           classlabels_ints=[-1, 1], post_transform=transform)
    ml("linear_regressor", "LinearRegressor", [x], coefficients=weights[:4], intercepts=[0.5])
    ml("linear_regressor_targets", "LinearRegressor", [x], coefficients=weights, intercepts=[0.5, 1.0, -1.0], targets=3)
    ml("linear_regressor_plain", "LinearRegressor", [x], coefficients=weights, targets=3)


def support_vectors():
    x = rows()
    vectors = numbers("vectors", 7, 4)
    params = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.7, 0.0, 0.0], "SIGMOID": [0.5, 0.25, 0.0]}
    for kernel, values in params.items():
        common = {"kernel_type": kernel, "kernel_params": values, "support_vectors": vectors.ravel().tolist()}
        ml(f"svm_regressor_{kernel}", "SVMRegressor", [x], coefficients=numbers("c", 7).tolist(), rho=[0.25], n_supports=7, **common)
        ml(f"svm_{kernel}", "SVMClassifier", [x], 2, coefficients=numbers("c", 14).tolist(), rho=[0.25, -0.5, 0.125],
           vectors_per_class=[3, 2, 2], classlabels_ints=[4, 5, 6], **common)
        ml(f"svm_two_{kernel}", "SVMClassifier", [x], 2, coefficients=numbers("c", 7).tolist(), rho=[0.25], vectors_per_class=[3, 4],
           classlabels_ints=[0, 1], **common)
        ml(f"svm_likely_{kernel}", "SVMClassifier", [x], 2, coefficients=numbers("c", 14).tolist(), rho=[0.25, -0.5, 0.125],
           vectors_per_class=[3, 2, 2], classlabels_ints=[4, 5, 6], prob_a=[-2.0, -1.5, -3.0], prob_b=[0.25, 0.0, -0.5], **common)
    ml("svm_one_class", "SVMRegressor", [x], coefficients=numbers("c", 7).tolist(), rho=[-0.25], n_supports=7, one_class=1,
       kernel_type="RBF", kernel_params=[0.7, 0.0, 0.0], support_vectors=vectors.ravel().tolist())
    ml("svm_regressor_weights", "SVMRegressor", [x], coefficients=numbers("c", 4).tolist(), rho=[0.25],
       kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])
