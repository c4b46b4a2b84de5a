"""Fields on the reference page: the comment beside a field, or the help of an option, is what is told of it.

Griffe, which reads the code for the page, calls the extension for every field.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from griffe import Attribute, Docstring, Extension


class FieldComments(Extension):
    """Makes docstrings of what stands beside fields."""

    def on_attribute_instance(self, *, node: Any, attr: Attribute, **_: Any) -> None:
        """Give a field without a docstring what is told of it, and an option its default for a value."""
        if attr.docstring is not None or not isinstance(node, ast.AnnAssign):
            return
        told = _comment(attr.source)
        match node.value:
            case ast.Call(func=ast.Name(id="option"), args=[default, ast.Constant(value=str(help_text))]):
                attr.value, told = ast.unparse(default), help_text
        attr.docstring = Docstring(told, parent=attr) if told else None


def _comment(code: str) -> str | None:
    """What stands after the last of some code; a sharp within quotes is none."""
    found = re.search(r"\s# ([^\"\n]*)$", code)
    return found[1] if found else None
