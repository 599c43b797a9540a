"""What each program needs to turn sentences into vectors, and one run of it.

    python inference_programs.py '{"program": "keras_elmo", "model": DIR, ...}'

Run by `inference.py` with the Python of the program that is measured, so that only that
program and NumPy are imported here. JSON on stdout's last line. The models are those of
bilm-tf's form: options.json, model.hdf5, vocab.txt.
"""

import importlib
import json
import os
import resource
import sys
import time

from products import matrix_product_rate

BATCH = 32  # what the older programs take, in the order of the file
# Of one sentence: times at most, and seconds after which no further one begins.
SINGLES, ENOUGH = 20, 60


def keras_elmo(model, threads, dtype):
    if threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    backend = os.environ["KERAS_BACKEND"]
    if backend == "torch":
        import torch

        torch.set_num_threads(threads)
    elif backend == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    import keras_elmo

    backbone = keras_elmo.ElmoBackbone.from_options(
        f"{model}/options.json", f"{model}/model.hdf5"
    )
    return lambda sentences: list(
        keras_elmo.embed_iter(sentences, backbone, layers="mean", dtype=dtype)
    )


def allennlp(model, threads, dtype):
    import torch

    torch.set_num_threads(threads)
    elmo_module = importlib.import_module("allennlp.modules.elmo")
    Elmo, batch_to_ids = elmo_module.Elmo, elmo_module.batch_to_ids

    elmo = Elmo(f"{model}/options.json", f"{model}/model.hdf5", 1, dropout=0.0).eval()

    def embed(sentences):
        results = []
        with torch.no_grad():
            for start in range(0, len(sentences), BATCH):
                batch = sentences[start : start + BATCH]
                found = elmo(batch_to_ids(batch))["elmo_representations"][0].numpy()
                results += [row[: len(s)] for row, s in zip(found, batch)]  # noqa: B905
        return results

    return embed


def simple_elmo(model, threads, dtype):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    ElmoModel = importlib.import_module("simple_elmo").ElmoModel

    elmo = ElmoModel()
    # It takes a folder with one options.json and one weights file.
    elmo.load(model, max_batch_size=BATCH, limit=None, full=False)

    def embed(sentences):
        found = elmo.get_elmo_vectors(sentences, warmup=False)
        return [row[: len(s)] for row, s in zip(found, sentences)]  # noqa: B905

    return embed


def bilm_tf(model, threads, dtype):
    tf = importlib.import_module("tensorflow")  # 1.15
    bilm = importlib.import_module("bilm")

    files = f"{model}/options.json", f"{model}/model.hdf5"
    batcher = bilm.Batcher(f"{model}/vocab.txt", 50)
    ids = tf.placeholder("int32", (None, None, 50))
    bilm_ops = bilm.BidirectionalLanguageModel(*files, max_batch_size=BATCH)(ids)
    mean = bilm.weight_layers("elmo", bilm_ops, l2_coef=0.0)["weighted_op"]
    session = tf.Session(
        config=tf.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
        )
    )
    session.run(tf.global_variables_initializer())

    def embed(sentences):
        results = []
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            found = session.run(mean, {ids: batcher.batch_sentences(batch)})
            results += [row[: len(s)] for row, s in zip(found, batch)]  # noqa: B905
        return results

    return embed


def _timed(function):
    """Seconds on the wall and of the processor, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def measure(program, model, sentences, threads, repeats, dtype="float32"):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with open(sentences, encoding="utf-8") as file:
        sentences = json.load(file)
    wanted = [s for s in sentences if len(s) == 20][:1]
    # It sets the threads, which TensorFlow lets nobody do later.
    embed = globals()[program](model, threads, dtype)
    backend = os.environ["KERAS_BACKEND"] if program == "keras_elmo" else None
    before = matrix_product_rate(backend)
    tokens = sum(map(len, sentences))
    first = _timed(lambda: embed(sentences))
    runs = [_timed(lambda: embed(sentences))[:2] for _ in range(repeats)]
    embed(wanted)
    single = []
    started = time.perf_counter()
    while len(single) < SINGLES and time.perf_counter() - started < ENOUGH:
        single.append(_timed(lambda: embed(wanted))[0])
    assert [len(v) for v in first[2]] == [len(s) for s in sentences]
    # A child begins with the peak of its parent where this is not read from /proc.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            peak = next(int(x.split()[1]) for x in file if x.startswith("VmHWM"))
    except OSError:
        pass
    return {
        "tokens_per_second": tokens / min(wall for wall, _ in runs),
        "tokens_per_processor_second": tokens / min(cpu for _, cpu in runs),
        "first_call_seconds": first[0],
        "milliseconds_20_tokens": 1000 * sorted(single)[len(single) // 2],
        "peak_memory_mb": peak / 1024,
        "matrix_product_gflops": max(before, matrix_product_rate(backend)),
    }


if __name__ == "__main__":
    print("\n" + json.dumps(measure(**json.loads(sys.argv[1]))))
