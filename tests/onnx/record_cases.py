#!/usr/bin/env python3
"""Records what ONNX Runtime makes of seeded models: tests/onnx/record_cases.py FOLDER

Writes FOLDER/contrib.jsonl (operators of com.microsoft), FOLDER/forms.jsonl (forms of ONNX's own operators that the onnx
package has no test for) and FOLDER/ml.jsonl (operators of ai.onnx.ml), each with a folder of models and data beside it, in the form of write_cases.py.
Needs numpy, onnx and onnxruntime; the tests that read the recorded files need none of them.
"""

import argparse
import json
import pathlib
import shutil

import contrib_cases
import form_cases
import fused_cases
import ml_cases
import network_cases
import quantised_cases
from recording import CASES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    for add in (contrib_cases.simple_contrib, contrib_cases.contrib_attention, quantised_cases.contrib_quantised, quantised_cases.linear_forms,
                fused_cases.fused_products, fused_cases.fused_convolutions, fused_cases.fused_norms, fused_cases.own_forms,
                fused_cases.attention_forms,
                form_cases.power_forms, form_cases.convolution_forms, form_cases.pool_forms, form_cases.norm_forms, form_cases.image_forms, form_cases.legacy_forms, quantised_cases.bitsandbytes,
                ml_cases.tree_regressors, ml_cases.tree_classifiers, ml_cases.tree_ensembles, ml_cases.features, ml_cases.labels, ml_cases.words, ml_cases.tokens,
                ml_cases.linear_models, ml_cases.support_vectors,
                network_cases.qdq_convolutions, network_cases.qdq_pools, network_cases.qdq_products, network_cases.qdq_sums):
        add()
    for kind, cases in CASES.items():
        folder = options.folder / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with open(options.folder / f"{kind}.jsonl", "w", encoding="utf-8") as file:
            for case in cases:
                file.write(json.dumps(case.write(folder)) + "\n")
        print(f"{kind}: {len(cases)} cases")


if __name__ == "__main__":
    main()
