"""Headings of this package's docstrings, as mkdocstrings reads them.

`Call arguments:` is Keras' heading for what a layer is called with. Griffe's Google
style knows no such section, but takes a title behind one that it knows. What is
returned has no name here, and the example no indentation: both are plain text.
"""

import inspect
import re

import griffe

HEADINGS = {
    r"^Call arguments:$": "Other Parameters: Call arguments:",
    r"^Reference: ": "**Reference:** ",
    r"^Example:(.*)$": r"**Example:**\1\n",
}
RETURNS = re.compile(r"^(Returns|Yields):\n((?: +.*\n?|\n(?= ))+)", re.MULTILINE)


class DocstringHeadings(griffe.Extension):
    """Rewrites headings before the docstring is parsed."""

    def on_object(self, *, obj, **kwargs):
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            text = inspect.cleandoc(obj.docstring.value)
            for pattern, replacement in HEADINGS.items():
                text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
            obj.docstring.value = RETURNS.sub(_as_text, text)


def _as_text(match):
    return f"**{match[1]}:** {inspect.cleandoc(match[2])}\n"
