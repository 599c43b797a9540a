"""Headings of this package's docstrings, as mkdocstrings reads them.

`Call arguments:` is Keras' heading for what a layer is called with. Griffe's Google
style knows no such section, but takes a title behind one that it knows.
"""

import re

import griffe

HEADINGS = {
    r"^( *)Call arguments:$": r"\1Other Parameters: Call arguments:",
    # One line, or an indented paragraph: a section of text.
    r"^( *)Reference: ": r"\1**Reference:** ",
    r"^( *)Example:$": r"\1**Example:**\n",
}


class DocstringHeadings(griffe.Extension):
    """Rewrites headings before the docstring is parsed."""

    def on_object(self, *, obj, **kwargs):
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            text = obj.docstring.value
            for pattern, replacement in HEADINGS.items():
                text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
            obj.docstring.value = text
