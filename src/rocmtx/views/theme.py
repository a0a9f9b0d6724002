"""The colours of every view, light and dark, and the style sheet of the HTML views.

Knows colours and the theme variables of JupyterLab (with those of VS Code behind them); must not know facts or states.
The same series colours stand in `labextension/live/theme.ts`; a test compares the two.
"""

from __future__ import annotations

# Told apart by lightness as well as by hue; each has a contrast of 3 or more on its background (WCAG 1.4.11).
SERIES_LIGHT = ("#2b6cb0", "#0f7f7f", "#a8650c", "#8b3fa0", "#c2410c", "#4d7c0f", "#be185d", "#475569")
SERIES_DARK = ("#63a4ee", "#3fc4c4", "#e3b04b", "#c792e8", "#fb923c", "#a3d65c", "#f472b6", "#a8b3c2")

_DARK = ('[data-jp-theme-light="false"]', "body.vscode-dark")


def series_css(inside: str) -> str:
    """Return the rules that give `inside` the variables --rocmtx-0 … --rocmtx-7, by the theme's lightness."""
    light = ";".join(f"--rocmtx-{at}:{colour}" for at, colour in enumerate(SERIES_LIGHT))
    dark = ";".join(f"--rocmtx-{at}:{colour}" for at, colour in enumerate(SERIES_DARK))
    selector = ",".join(f"{theme} {inside}" for theme in _DARK)
    return f"{inside}{{{light}}}{selector}{{{dark}}}"


def _variables() -> str:
    dark = ",".join(f"{theme} .rocmtx" for theme in _DARK)
    return (
        ".rocmtx{"
        "--rocmtx-fg:var(--jp-ui-font-color1,var(--vscode-editor-foreground,#1c2024));"
        "--rocmtx-bg:var(--jp-layout-color1,var(--vscode-editor-background,#fff));"
        "--rocmtx-fg2:color-mix(in srgb,var(--rocmtx-fg) 72%,var(--rocmtx-bg));"
        "--rocmtx-bg2:color-mix(in srgb,var(--rocmtx-fg) 5%,var(--rocmtx-bg));"
        "--rocmtx-line:color-mix(in srgb,var(--rocmtx-fg) 16%,var(--rocmtx-bg));"
        "--rocmtx-yes:#1a7f4b;--rocmtx-unknown:#8a5a00;--rocmtx-no:#b3261e}"
        f"{dark}{{--rocmtx-yes:#4ade80;--rocmtx-unknown:#f5b942;--rocmtx-no:#ff8a80}}"
    )


# The class stands three times where it must outweigh JupyterLab's own rules for tables in outputs: they align right.
STYLE = (
    _variables() + series_css(".rocmtx") + ".rocmtx{color:var(--rocmtx-fg);font-size:13px;line-height:1.45;font-family:"
    "var(--jp-ui-font-family,system-ui,sans-serif);max-width:60rem}"
    ".rocmtx.rocmtx.rocmtx table{border-collapse:collapse;margin:0;font-size:13px}"
    ".rocmtx.rocmtx.rocmtx :is(th,td){color:var(--rocmtx-fg);text-align:left;vertical-align:top;padding:3px 14px 3px 0;"
    "background:none;border:0;"
    "border-bottom:1px solid var(--rocmtx-line);white-space:normal;max-width:none}"
    ".rocmtx.rocmtx.rocmtx th{color:var(--rocmtx-fg2);font-weight:600;white-space:nowrap}"
    ".rocmtx small,.rocmtx .because{color:var(--rocmtx-fg2);font-size:12px}"
    ".rocmtx p{margin:0 0 4px}.rocmtx .yes{color:var(--rocmtx-yes)}"
    ".rocmtx .no,.rocmtx .error{color:var(--rocmtx-no)}.rocmtx .unknown,.rocmtx .warning{color:var(--rocmtx-unknown)}"
    ".rocmtx .origin{display:inline-block;border:1px solid currentColor;border-radius:9px;padding:0 8px;"
    "color:var(--rocmtx-unknown)}"
    ".rocmtx .text{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".rocmtx pre{white-space:pre-wrap;background:var(--rocmtx-bg2);padding:8px 10px;border-radius:4px;margin:0;"
    "color:var(--rocmtx-fg);font:12px/1.5 var(--jp-code-font-family,ui-monospace,monospace)}"
    ".rocmtx progress{width:16rem;vertical-align:middle}"
)
