"""Messages of Jupyter itself.

Knows these texts; must not know Jupyter's versions.
"""

from __future__ import annotations

from typing import Final

from rocmtx.decide.explanation import TextRule

RULES: Final = (
    TextRule(
        "widget-missing",
        r"error displaying widget: model not found|is not registered as a widget module",
        "the browser runs another major version of ipywidgets than the kernel, or none",
        "pip install -U ipywidgets jupyterlab_widgets where JupyterLab runs, restart it, reload the page",
    ),
    TextRule(
        "output-rate",
        r"IOPub (?:message|data) rate exceeded",
        "the output came too fast for Jupyter; the model is fine",
        "print less often",
        harmless=True,
    ),
)
