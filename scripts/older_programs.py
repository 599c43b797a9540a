"""Lets the older programs read what `check_written_files.py` wrote.

Run by it, and by `check_many_langs.py`, with each program's own Python, so that only
the program and NumPy are imported here. The results lie beside the files that they come
of:

    MODEL/PROGRAM.npz    "0", "1", ...: a sentence's layers, (layers, tokens, dim);
                         "mean 0", ...: what the program itself makes of them
    MODEL/PROGRAM.json   {"error": ...}, or of a checkpoint {"perplexity": ..., ...}
"""

import importlib
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

TRAINING_STEPS = 3


def allennlp(folder, sentences):
    """AllenNLP's biLM, and its `Elmo`."""
    torch = importlib.import_module("torch")
    module = importlib.import_module("allennlp.modules.elmo")
    files = str(folder / "options.json"), str(folder / "model.hdf5")
    ids = module.batch_to_ids(sentences)
    with torch.no_grad():
        # Each model is new: its carried state is zero.
        layers = torch.stack(module._ElmoBiLm(*files).eval()(ids)["activations"], 1)
        elmo = module.Elmo(*files, 1, dropout=0.0).eval()
        mean = elmo(ids)["elmo_representations"][0]
    found = {}
    for row, sentence in enumerate(sentences):
        # Without the markers, which the biLM keeps.
        found[str(row)] = layers[row, :, 1 : len(sentence) + 1].numpy()
        found[f"mean {row}"] = mean[row, : len(sentence)].numpy()
    return found


def flair(folder, sentences):
    """flair's `ELMoEmbeddings`, which reads by AllenNLP 0.9 and knows three layers."""
    # The package of AllenNLP's commands imports all of it, a web server included, and
    # needs spaCy 2; the one command that flair uses does not.
    program: Any = importlib.import_module("allennlp")
    commands = types.ModuleType("allennlp.commands")
    commands.__path__ = [str(Path(program.__path__[0], "commands"))]
    program.commands = sys.modules.setdefault(commands.__name__, commands)
    importlib.import_module("allennlp.commands.elmo")
    embeddings = importlib.import_module("flair.embeddings")
    data = importlib.import_module("flair.data")
    files = {
        "options_file": str(folder / "options.json"),
        "weight_file": str(folder / "model.hdf5"),
    }
    found = {}
    for mode, form in (("all", "{}"), ("average", "mean {}")):
        elmo = embeddings.ELMoEmbeddings(embedding_mode=mode, **files)
        # It embeds a word when it is made, and its states are those behind it.
        elmo.ee.elmo_bilm._elmo_lstm._states = None
        texts = [data.Sentence(s, use_tokenizer=False) for s in sentences]
        elmo.embed(texts)
        for row, text in enumerate(texts):
            vectors = np.stack([token.get_embedding().cpu().numpy() for token in text])
            if mode == "all":
                vectors = np.stack(np.split(vectors, 3, axis=-1))
            found[form.format(row)] = vectors
    return found


def elmoformanylangs(folder, sentences):
    """ELMoForManyLangs, a sentence at a time: its `lstm` encoder reads the padding."""
    logging.disable(logging.WARNING)
    program = importlib.import_module("elmoformanylangs")
    embedder = program.Embedder(str(folder))
    found = {}
    for row, sentence in enumerate(sentences):
        embedder.model.encoder._states = None  # they go on from call to call
        found[str(row)] = embedder.sents2elmo([sentence], output_layer=-2)[0]
    return found


def simple_elmo(folder, sentences):
    """simple_elmo, which has bilm-tf's code for TensorFlow 2."""
    program = importlib.import_module("simple_elmo")
    tf = importlib.import_module("tensorflow")
    tf.compat.v1.reset_default_graph()
    options = json.loads((folder / "options.json").read_text())
    if "char_cnn" in options:
        elmo = program.ElmoModel()
        elmo.load(str(folder), max_batch_size=len(sentences))
        layers = elmo.get_elmo_vectors(sentences, warmup=False, layers="all")
    else:
        layers = bilm_tf_words(tf, folder, sentences)
    return {
        str(row): layers[row, :, : len(sentence)]
        for row, sentence in enumerate(sentences)
    }


def bilm_tf_words(tf, folder, sentences):
    """bilm-tf's own interface, which alone reads words."""
    tf.compat.v1.disable_eager_execution()
    data = importlib.import_module("simple_elmo.data")
    model = importlib.import_module("simple_elmo.model")
    weights = str(folder / "model.hdf5")
    bilm = model.BidirectionalLanguageModel(
        str(folder / "options.json"),
        weights,
        use_character_inputs=False,
        embedding_weight_file=weights,
        max_batch_size=len(sentences),
    )
    ids = tf.compat.v1.placeholder("int32", (None, None))
    layers = bilm(ids)["lm_embeddings"]
    batcher = data.TokenBatcher(str(folder / "vocab.txt"))
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(layers, {ids: batcher.batch_sentences(sentences)})


class _OneSentence:
    """What bilm-tf's `test` takes: its data set ends in an error since Python 3.7."""

    def __init__(self, sentence, vocabulary, length):
        self.arguments = [" ".join(sentence)], vocabulary
        self.length = length

    def iter_batches(self, batch_size, steps):
        data = importlib.import_module("simple_elmo.data")
        encode = importlib.import_module("simple_elmo.training").lm_encode
        directions = [
            data._get_batch(
                encode(*self.arguments, reverse), batch_size, steps, self.length
            )
            for reverse in (False, True)
        ]
        for forward, backward in zip(*directions):  # noqa: B905
            yield {
                **forward,
                **{f"{key}_reverse": value for key, value in backward.items()},
            }


def bilm_tf_checkpoint(folder, sentences):
    """bilm-tf's perplexity of a checkpoint, and some more steps of its training."""
    tf = importlib.import_module("tensorflow")
    training = importlib.import_module("simple_elmo.training")
    data = importlib.import_module("simple_elmo.data")
    tf.compat.v1.disable_eager_execution()
    # As in TensorFlow 1: a line of its training, `variable += loss`, asks for it.
    tf.compat.v1.disable_resource_variables()
    options, prefix = training.load_options_latest_checkpoint(str(folder))
    length = options.get("char_cnn", {}).get("max_characters_per_token")
    vocabulary = training.load_vocab(str(folder / "vocab.txt"), length)
    tf.compat.v1.reset_default_graph()
    sentence = max(sentences, key=len)
    perplexity = training.test(
        options, prefix, _OneSentence(sentence, vocabulary, length), batch_size=1
    )
    tf.compat.v1.reset_default_graph()
    text = folder / "text"
    text.write_text("".join(" ".join(s) + "\n" for s in sentences), encoding="utf-8")
    options.update(batch_size=2, unroll_steps=4, n_epochs=1)
    options["n_train_tokens"] = 8 * TRAINING_STEPS
    (folder / "trained").mkdir()
    training.train(
        options,
        data.BidirectionalLMDataset(str(text), vocabulary),
        1,
        str(folder / "trained"),
        str(folder / "log"),
        restart_ckpt_file=prefix,
    )
    return {"perplexity": float(perplexity)}


def main(program, sentences, *folders):
    sentences = json.loads(Path(sentences).read_text("utf-8"))
    for folder in map(Path, folders):
        is_checkpoint = (folder / "checkpoint").exists()
        run = bilm_tf_checkpoint if is_checkpoint else globals()[program]
        result = {}
        try:
            found = run(folder, sentences)
        except (Exception, SystemExit) as error:
            result["error"] = f"{type(error).__name__}: {error}"
        else:
            if is_checkpoint:
                result.update(found)
            else:
                arrays: dict = found
                np.savez(folder / f"{program}.npz", **arrays)
        (folder / f"{program}.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
