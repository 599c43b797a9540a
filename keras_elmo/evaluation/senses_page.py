"""A word's uses as one page of HTML that needs nothing else.

What comes from a corpus is hostile until shown to be text: it stands in the page as
JSON without `<`, `>` and `&`, scripts of the page put it on the screen as text nodes,
and a policy in the page's head lets no other script run and nothing be fetched.
"""

import base64
import hashlib
import html
import json
import re
from importlib import resources
from os import PathLike
from pathlib import Path

from keras_elmo.evaluation.senses import Senses
from keras_elmo.evaluation.senses_picture import cluster_color

AROUND = 25
TYPICAL = 4
# A browser ends the block at these, or a script's line at the last two.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def write_page(senses: Senses, path: str | PathLike) -> None:
    """Writes the page: points, a slider over the layers, the sentences.

    Args:
        senses: `Senses`.
        path: the file to make.
    """
    files = resources.files("keras_elmo.evaluation") / "page"
    page, style, script = (
        (files / f"senses.{end}").read_text("utf-8") for end in ("html", "css", "js")
    )
    data = json.dumps(page_data(senses), ensure_ascii=False, separators=(",", ":"))
    parts = {
        "title": html.escape(f"Uses of “{senses.word}”"),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "data": data.translate(_ESCAPES),
    }
    # In one pass: a sentence may hold what looks like the name of another part.
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def page_data(senses: Senses) -> dict:
    """What the page's script reads, in types of JSON."""
    words = senses.telling_words()
    typical = senses.typical(TYPICAL)
    return {
        "word": senses.word,
        "found": senses.found,
        "layers": senses.layer_names,
        "clusteredBy": senses.clustered_by,
        "points": [
            [[round(float(x), 4) for x in point] for point in layer]
            for layer in senses.points
        ],
        "uses": [
            {"text": use.around(AROUND), "file": Path(use.file).name, "line": use.line}
            for use in senses.uses
        ],
        "cluster": senses.clusters.tolist(),
        "clusters": [
            {"color": cluster_color(i), "words": words[i], "typical": typical[i]}
            for i in range(len(words))
        ],
        "neighbors": senses.neighbors.tolist(),
        "cosines": [
            [[round(float(c), 3) for c in row] for row in layer]
            for layer in senses.cosines
        ],
    }


def _hash(text):
    """The name by which a Content-Security-Policy admits a text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
