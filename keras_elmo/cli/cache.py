"""The command that computes frequent tokens' vectors once: cache-tokens."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import AsJson, Overwrite, app, log_backend, print_result


@app.command("cache-tokens")
def cache_tokens(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET", help="What --model of embed takes.")
    ],
    vocabulary: Annotated[
        Path, typer.Option(help="One word a line, the frequent ones first.")
    ],
    output: Annotated[Path, typer.Option(help="File to make.")],
    size: Annotated[
        int | None, typer.Option(min=1, help="Only the first words of the file.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Compute the context-free vectors of frequent tokens, for embed --token-cache.

    Takes 4 bytes times the model's projection size a token on the disk. Tokens that are
    not in the cache still go through the character CNN: results stay the same.
    """
    log_backend()
    from keras_elmo.models.elmo_backbone import ElmoBackbone
    from keras_elmo.text.vocabulary import read_words
    from keras_elmo.token_cache import TokenCache

    tokens, _ = read_words(vocabulary)
    backbone = ElmoBackbone.from_preset(preset)
    cache = TokenCache.create(output, tokens[:size], backbone, overwrite=overwrite)
    summary = {
        "output": str(output),
        "tokens": len(cache),
        "bytes": output.stat().st_size,
    }
    print_result(summary, as_json)
