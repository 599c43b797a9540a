"""Commands that look into a model: probe, senses."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import (
    AsJson,
    Model,
    Overwrite,
    app,
    layers_choice,
    log_backend,
    print_result,
)

Cache = Annotated[
    Path | None, typer.Option(help="Directory that keeps vectors for next time.")
]


@app.command()
def probe(
    model: Model,
    output: Annotated[Path, typer.Option(help="Directory to make.")],
    pos: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="TRAIN TEST", help="Parts of speech: CoNLL-U or columns, tag last."
        ),
    ] = None,
    chunks: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="TRAIN TEST", help="Chunks: columns, the tag last."),
    ] = None,
    senses: Annotated[
        Path | None, typer.Option(help="Folder of words, as CoarseWSD-20's.")
    ] = None,
    wic: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="TRAIN TEST", help="MCL-WiC .data files, .gold beside each."
        ),
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(help="Held-out text for perplexity; repeatable."),
    ] = None,
    word_vectors: Annotated[
        Path | None, typer.Option(help="File of static vectors to compare with.")
    ] = None,
    word2vec: Annotated[
        list[Path] | None,
        typer.Option(help="In its place text to train word2vec on; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Probes of each kind.")] = 3,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Examples to learn from at most, a file or a word."),
    ] = None,
    cache: Cache = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Measure what each layer knows: syntax, word senses, held-out text.

    OUTPUT holds results.json, tables.md, layers.png and vectors.png.
    """
    log_backend()
    from keras_elmo.evaluation.command import probe as run
    from keras_elmo.evaluation.report import print_tables

    results = run(
        model,
        output,
        pos=pos,
        chunks=chunks,
        senses=senses,
        words_in_context=wic,
        text=text or [],
        word_vectors=word_vectors,
        word2vec=word2vec or [],
        seeds=seeds,
        limit=limit,
        cache=cache,
        overwrite=overwrite,
    )
    if as_json:
        print_result(results, as_json)
    else:
        print_tables(results)


@app.command()
def senses(
    word: Annotated[str, typer.Argument(metavar="WORD", help="One token.")],
    corpus: Annotated[
        list[Path], typer.Option(help="Text, one sentence a line; repeatable.")
    ],
    model: Model,
    output: Annotated[Path, typer.Option(help="Directory to make.")],
    by: Annotated[
        str, typer.Option(help="What clusters are made of: top, mean or an index.")
    ] = "top",
    clusters: Annotated[
        int | None,
        typer.Option(min=1, help="How many; by default as seem to be there."),
    ] = None,
    neighbors: Annotated[int, typer.Option(min=1, help="Nearest uses of a use.")] = 5,
    method: Annotated[
        str, typer.Option(help="pca or umap, how vectors become points.")
    ] = "pca",
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    limit: Annotated[
        int, typer.Option(min=1, help="Uses at most, chosen at random.")
    ] = 500,
    match_case: Annotated[
        bool, typer.Option("--match-case", help="Bank is no use of bank.")
    ] = False,
    cache: Cache = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Show what a word means where: its uses as points, neighbours, clusters.

    OUTPUT holds senses.html, a page that needs no network, senses.png, senses.json and
    projector/ for TensorBoard.
    """
    log_backend()
    from keras_elmo.evaluation.command import senses as run
    from keras_elmo.evaluation.report import print_senses

    found = run(
        word,
        corpus,
        model,
        output,
        by=layers_choice(by),
        clusters=clusters,
        neighbors=neighbors,
        method=method,
        tokenizer=tokenizer,
        limit=limit,
        match_case=match_case,
        cache=cache,
        overwrite=overwrite,
    )
    if as_json:
        summary = {"uses": len(found.uses), "found": found.found}
        sizes = [len(rows) for rows in found.typical(len(found.uses))]
        print_result({**summary, "clusters": sizes, "output": str(output)}, as_json)
    else:
        print_senses(found)
