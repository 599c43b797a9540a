"""Feeds spoilt files to `keras-elmo convert`, and counts what comes of it.

    python scripts/fuzz_checkpoints.py --number 500 --seed 1

Models of each form are written by the package, spoilt (bytes flipped, cut, put in;
names missing, renamed, twice; shapes, types and numbers changed, with checksums that
are right all the same; archives with names that lead out of them) and converted, each
in a process of its own with little memory. Right is: a ValueError or
FileNotFoundError of the package that names the file, and nothing written; or a model,
where the change left one. All else counts as a failure, is printed and kept.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import shutil
import sys
import tempfile
import traceback
import warnings

import numpy as np
from spoil_files import spoil_folder, spoilt_archive

import keras_elmo
from keras_elmo.checkpoints.bilm_hdf5 import write_weights
from keras_elmo.checkpoints.bilm_names import weights_of
from keras_elmo.checkpoints.bilm_options import write_options
from keras_elmo.checkpoints.bilm_tf1 import read_checkpoint, write_checkpoint
from keras_elmo.checkpoints.convert import convert
from keras_elmo.checkpoints.tensor_bundle import write_bundle
from keras_elmo.checkpoints.training_state import STATE_FILE

SECONDS, MEMORY = 60, 4 * 2**30
OK, REFUSED, FAILED = "loaded", "refused", "FAILED"
WORDS = ["<S>", "</S>", "<UNK>", "the", "bank", "of", "river"]


# === Whole files ===


def write_sources(folder):
    """{form: folder of a model's files}."""
    vocabulary = keras_elmo.Vocabulary(WORDS)
    sizes = {"hidden_dim": 6, "projection_dim": 4, "cell_clip": 3.0, "proj_clip": 3.0}
    characters = keras_elmo.ElmoBackbone(
        char_cnn_filters=[[1, 3], [2, 4]],
        character_embedding_dim=2,
        max_characters_per_token=10,
        num_highway_layers=1,
        **sizes,
    )
    words = keras_elmo.ElmoBackbone(vocabulary_size=len(vocabulary), **sizes)
    found = {}
    for name, backbone in (("characters", characters), ("words", words)):
        backbone.vocabulary = vocabulary
        target = found[f"bilm_hdf5 {name}"] = folder / f"hdf5_{name}"
        target.mkdir()
        write_options(backbone, target / "options.json")
        write_weights(backbone, target / "model.hdf5")
        vocabulary.write(target / "vocab.txt")
        target = found[f"bilm_tf1 {name}"] = folder / f"tf1_{name}"
        model = keras_elmo.ElmoBiLM(backbone, len(vocabulary))
        write_checkpoint(model, target)
        preset = found[f"preset {name}"] = folder / f"preset_{name}"
        model.save_to_preset(preset)
        state = read_checkpoint(target, target / "vocab.txt").state
        state.write(preset / STATE_FILE)
    target = found["tf_hub"] = folder / "tf_hub"
    (target / "variables").mkdir(parents=True)
    (target / "saved_model.pb").write_bytes(b"\x08\x01")
    variables = {
        f"module/bilm/{name}": weight.read(characters)
        for name, weight in weights_of(characters.get_config()).items()
    }
    variables["module/aggregation/weights"] = np.zeros(3, "float32")
    variables["module/aggregation/scaling"] = np.array(1.0, "float32")
    write_bundle(target / "variables" / "variables", variables)
    found["zip"] = found["tar.gz"] = found["bilm_hdf5 characters"]
    return found


# === One try ===


def attempt(source, output):
    """Converts; (what came of it, the error or "")."""
    warnings.simplefilter("ignore")
    is_preset = (source / "metadata.json").exists()
    try:
        convert(source, output, to="bilm_tf1" if is_preset else "preset")
    except (ValueError, FileNotFoundError) as error:
        text = str(error)
        # A class of NumPy's or Python's own, or a text that names nothing, is no
        # error of the package.
        if type(error) not in (ValueError, FileNotFoundError) or "`" not in text:
            return FAILED, traceback.format_exc()
        if output.exists() or any(output.parent.glob(f".tmp-*-{output.name}")):
            return FAILED, f"Something was written, though refused: {text}"
        return REFUSED, text
    except BaseException:
        return FAILED, traceback.format_exc()
    return OK, ""


def in_a_process(source, output):
    """`attempt` in a child process: what crashes there is told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        used = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = used * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        result = attempt(source, output)
        with os.fdopen(writing, "w", encoding="utf-8", errors="replace") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return FAILED, f"ended by signal {os.WTERMSIG(status)}"
    return tuple(json.loads(text))


def fuzz(number, seed, keep=None, run=in_a_process, verbose=False):
    """Tries `number` spoilt models; {(form, what came of it): how many}, failures.

    Args:
        number: int, tries in all, of each form in turn.
        seed: int, what decides about all of them.
        keep: folder for the files of those that failed, or None.
        run: `attempt`, or `in_a_process`.
        verbose: bool, a line each.
    """
    counts, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "sources").mkdir()
        sources = list(write_sources(folder / "sources").items())
        for count in range(number):
            form, source = sources[count % len(sources)]
            rng = random.Random(f"{seed} {count}")
            case = folder / str(count)
            shutil.copytree(source, case / "model")
            place = case / "model"
            if form in ("zip", "tar.gz"):
                place, what = spoilt_archive(rng, place, form)
            else:
                what = "; ".join(
                    spoil_folder(rng, place) for _ in range(rng.choice([1, 1, 1, 2]))
                )
            result, told = run(place, case / "output")
            counts[form, result] += 1
            if result == FAILED:
                failures.append(f"{form} {count} ({what}): {told}")
                if keep is not None:
                    shutil.copytree(case, pathlib.Path(keep) / str(count))
            if verbose:
                print(
                    f"{count} {form}: {what}: {result} {' '.join(told.split())[:160]}"
                )
            shutil.rmtree(case)
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description="Feeds spoilt files to `convert`.")
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="folder for the files of what failed")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    counts, failures = fuzz(
        arguments.number, arguments.seed, arguments.keep, verbose=arguments.verbose
    )
    for form in sorted({form for form, _ in counts}):
        told = ", ".join(f"{counts[form, r]} {r}" for r in (REFUSED, OK, FAILED))
        print(f"{form}: {told}")
    print(f"{sum(counts.values())} tried, {len(failures)} failed")
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
