"""Files for TensorBoard's embedding projector."""

import json
from pathlib import Path

import numpy as np

from keras_elmo.evaluation.senses import Senses

AROUND = 20


def write_projector(senses: Senses, folder: str | Path) -> None:
    """Writes a directory that `tensorboard --logdir` shows as points in space.

    `projector_config.pbtxt`, one TSV of vectors a layer, and `metadata.tsv` with each
    use's sentence and cluster.

    Args:
        senses: `Senses`.
        folder: directory to make.
    """
    folder = Path(folder)
    folder.mkdir()
    write = {"encoding": "utf-8", "newline": "\n"}
    blocks = []
    for i, name in enumerate(senses.layer_names):
        file = f"{name.replace(' ', '_')}.tsv"
        np.savetxt(folder / file, senses.vectors[:, i], fmt="%.5g", delimiter="\t")
        blocks.append(
            "embeddings {\n"
            f"  tensor_name: {json.dumps(name)}\n"
            f"  tensor_path: {json.dumps(file)}\n"
            '  metadata_path: "metadata.tsv"\n'
            "}\n"
        )
    (folder / "projector_config.pbtxt").write_text("".join(blocks), **write)
    rows = ["sentence\tcluster\tline"]
    for use, number in zip(senses.uses, senses.clusters, strict=True):
        before, word, behind = use.around(AROUND)
        # A tab or a line's end of any kind inside a token would end the cell.
        sentence = " ".join(f"{before} [{word}] {behind}".split())
        rows.append(f"{sentence}\t{number + 1}\t{use.line}")
    (folder / "metadata.tsv").write_text("\n".join(rows) + "\n", **write)
