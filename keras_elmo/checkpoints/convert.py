"""Weights of any published form to a preset, and back to the forms of bilm-tf."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.checkpoints import bilm_tf1, forms
from keras_elmo.checkpoints.archives import is_archive, unpacked
from keras_elmo.checkpoints.model_card import files_of, write_card
from keras_elmo.checkpoints.readers import READERS
from keras_elmo.checkpoints.writers import WRITERS, backbone_of
from keras_elmo.embed import embed
from keras_elmo.files import atomic_path
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.preset_sources import resolve

FORMS = ("auto", *forms.FORMS)
TARGETS = tuple(WRITERS)
# Embedded before it is written and after: the numbers are numbers, and the same.
CHECK_SENTENCE = ["The", "bank", "of", "the", "river", "."]


def convert(
    source: str | os.PathLike,
    output: str | os.PathLike,
    form: str = "auto",
    overwrite: bool = False,
    *,
    to: str = "preset",
    vocabulary: str | os.PathLike | None = None,
    licence: str | None = None,
    origin: str | None = None,
    languages: tuple[str, ...] = (),
) -> dict:
    """Turns weights of one form into a preset, or a preset into what bilm-tf reads.

    What was written is read back and embeds a sentence, before it is moved into place.

    Args:
        source: a folder, an archive of one (`.zip`, `.tar`, `.tar.gz`), or one of the
            files that tell its form: options with the weights beside them, a
            checkpoint's prefix or index. Also a preset, as `from_preset` takes it.
        output: the directory to make.
        form: "auto", or one of `forms.FORMS`: what `source` is.
        overwrite: bool. Replace `output`.
        to: "preset"; "bilm_hdf5", `options.json`, `model.hdf5` and `vocab.txt` as
            bilm-tf, AllenNLP, flair and simple_elmo read them; or "bilm_tf1",
            a checkpoint that bilm-tf's training goes on from.
        vocabulary: path of the words it was trained with. Defaults to the one
            `vocab*.txt` among the files.
        licence: str, what the weights may be used for, for the model's card.
        origin: str, where the files come from, for the card.
        languages: codes or names, for the card.

    Returns:
        dict: "form", "to", "input", "layers", "hidden_dim", "dimension",
        "max_characters", "parameters", "vocabulary" (words), "language_model"
        (bool), "training_steps", "mix_weights", "gamma", "languages", "remarks",
        "output"; None where something is not known.

    Raises:
        FileExistsError: when `output` exists and `overwrite` is False.
        FileNotFoundError: when `source` is not there or holds no such files, with
            what was looked for.
        ValueError: when files are damaged, hostile or contradict each other, or the
            model's vectors are not finite. Nothing is written then.
    """
    form = checks.one_of("form", form.replace("-", "_"), FORMS)
    to = checks.one_of("to", to.replace("-", "_"), TARGETS)
    with atomic_path(output, overwrite=overwrite) as directory, _opened(source) as at:
        form, place, remarks = _choose(source, at, form)
        if form == to == "preset":
            raise ValueError(
                f"`{source}` is a preset already: `to` must be bilm_hdf5 or bilm_tf1."
            )
        model, state, more = READERS[form](place, vocabulary)
        remarks += more
        backbone = backbone_of(model)
        vectors = embed([CHECK_SENTENCE], backbone, layers="all")
        if not np.isfinite(vectors).all():
            raise ValueError(
                f"`{place}` gives vectors that are not finite for a plain sentence."
            )
        again, more = WRITERS[to](model, state, directory)
        remarks += more
        check = embed([CHECK_SENTENCE], backbone_of(again), layers="all")
        if not np.array_equal(check, vectors):
            raise ValueError(
                "What was written is not what was read: the vectors of a sentence "
                f"differ by {np.abs(check - vectors).max():.1e}."
            )
        facts = _facts(model, state)
        write_card(
            directory,
            title=Path(output).name,
            form=form,
            facts=facts,
            files=files_of(_source_of(form, place)),
            licence=licence,
            origin=origin,
            languages=languages,
        )
    return {
        "form": form,
        "to": to,
        **facts,
        "languages": list(languages) or None,
        "remarks": remarks or None,
        "output": str(output),
    }


@contextlib.contextmanager
def _opened(source) -> Iterator[Path | None]:
    """The place that a model's files lie in; None: no place of this machine."""
    path = Path(source)
    if is_archive(path):
        with unpacked(path) as folder:
            yield forms.locate(folder)
    elif path.is_dir():
        yield forms.locate(path)
    elif os.path.lexists(path) or path.with_name(f"{path.name}.index").is_file():
        yield path
    else:
        yield None


def _choose(source, place, form):
    """(form, the place to read, remarks)."""
    if place is None:
        if form not in ("auto", "preset"):
            raise FileNotFoundError(f"`{source}` does not exist.")
        try:
            return "preset", resolve(source), []
        except FileNotFoundError as error:
            raise FileNotFoundError(f"`{source}` does not exist: {error}") from None
    if form != "auto":
        return form, place, []
    if not place.is_dir():
        return _form_of_file(place), place, []
    found = forms.recognise(place)
    if not found:
        raise forms.nothing_known(Path(source))
    others = [
        f"The folder has the files of {other} too: `--from {other}` reads them."
        for other in found[1:]
    ]
    return found[0], place, others


def _form_of_file(path):
    name = path.name
    if name.endswith(".index") or not path.exists() or "ckpt" in name:
        return "bilm_tf1"
    if name.endswith("options.json"):
        found = forms.recognise(path.parent)
        return next((f for f in found if f.startswith("bilm")), "bilm_hdf5")
    raise ValueError(
        f"`{path}` is no file that tells a model's form: give its folder, its "
        "options.json, its model.ckpt-*.index, or an archive of its folder "
        "(.zip, .tar, .tar.gz)."
    )


def _source_of(form, place):
    """The place of the files that were read: of several checkpoints one alone."""
    return bilm_tf1.find_checkpoint(place)[0] if form == "bilm_tf1" else place


def _facts(model, state):
    backbone = backbone_of(model)
    return {
        "input": backbone.input_kind,
        "layers": backbone.num_layers,
        "hidden_dim": backbone.hidden_dim,
        "dimension": backbone.output_dim,
        "max_characters": backbone.max_characters_per_token
        if backbone.input_kind == "characters"
        else None,
        "parameters": int(model.count_params()),
        "vocabulary": None if backbone.vocabulary is None else len(backbone.vocabulary),
        "language_model": isinstance(model, ElmoBiLM),
        "training_steps": None if state is None else state.step,
        "mix_weights": backbone.mix_weights,
        "gamma": None if backbone.mix_weights is None else backbone.gamma,
    }
