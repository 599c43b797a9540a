"""The presets that are known by name, as lists for programs and for people."""

from keras_elmo import checks
from keras_elmo.preset_sources import builtin_presets, resolve
from keras_elmo.published import cached_preset, is_preset, published_models


def list_presets() -> list[dict]:
    """Each preset that is known by name: those that ship with the package first.

    Returns:
        list of dicts: "name", "description", "languages", "network" (cells and vector
        of a direction, or None), "bytes" (of its files: to be fetched, or as they
        ship; None where not known), "on_this_machine", "licence" (of the weights, None
        where not stated).
    """
    models = published_models().values()
    return [_builtin(name) for name in builtin_presets()] + [_row(m) for m in models]


def describe_preset(name: str) -> dict:
    """All that is known of a preset.

    Returns:
        dict: what `list_presets` says of it; of a published model also "parameters",
        "sizes", "program_licence", "homepage", "files" (what to fetch, and where it
        is put), "preset" (where the preset lies once it was made) and "citations".

    Raises:
        ValueError: when there is no preset of that name.
    """
    if name in builtin_presets():
        return {**_builtin(name), "preset": str(resolve(name))}
    models = published_models()
    if name not in models:
        raise ValueError(
            checks.received("name", name, "one that `keras-elmo presets` lists")
        )
    model = models[name]
    millions = model.parameters_in_millions
    return {
        **_row(model),
        "parameters": None if millions is None else round(millions * 1e6),
        "sizes": model.sizes,
        "program_licence": model.program_licence,
        "homepage": model.homepage,
        "files": [
            {
                "addresses": list(file.addresses),
                "size": file.size,
                "sha256": file.sha256,
                "path": str(model.folder / file.name),
            }
            for file in model.files
        ],
        "preset": str(cached_preset(name)),
        "citations": list(model.citations),
    }


def _builtin(name):
    files = (path for path in resolve(name).rglob("*") if path.is_file())
    return {
        "name": name,
        "description": "(ships with the package)",
        "languages": None,
        "network": None,
        "bytes": sum(path.stat().st_size for path in files),
        "on_this_machine": True,
        "licence": None,
    }


def _row(model):
    cells, size = model.sizes["hidden_dim"], model.sizes["projection_dim"]
    return {
        "name": model.name,
        "description": model.description,
        "languages": list(model.languages),
        "network": f"{cells}/{size}" if cells and size else None,
        "bytes": model.download_size,
        "on_this_machine": is_preset(cached_preset(model.name)),
        "licence": model.licence,
    }


def readable(value, indent: str = "") -> str:
    """A value of these dicts as people read it, what it holds below each other."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    deeper = indent + "  "
    if isinstance(value, dict):
        value = [f"{key}: {readable(item, deeper)}" for key, item in value.items()]
    elif isinstance(value, list):
        value = [readable(item, deeper) for item in value]
    else:
        return str(value)
    return "".join(f"\n{deeper}{item}" for item in value)
