"""The page: a style sheet for wide and narrow screens, dark ones and paper; nothing runs."""

from __future__ import annotations

from skinformer.display.report.markup import Markup, tag
from skinformer.display.report.vector import DARK, DARK_INK, LIGHT, LIGHT_INK, colours_css

_LIGHT = f"--ground:#f4f5f7;--card:{LIGHT};--ink:{LIGHT_INK};--soft:#5a6470;--line:#d9dde2;"
_LIGHT += "--mark:#b45309;"
_DARK = f"--ground:#111418;--card:{DARK};--ink:{DARK_INK};--soft:#a3acb6;--line:#343b44;"
_DARK += "--mark:#fbbf6a;"
_STYLE = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.5rem clamp(.75rem,3vw,2rem) 3rem;max-width:76rem;
background:var(--ground);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.25rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.5rem 0 .5rem}
.lead{max-width:46rem;margin:.25rem 0 1.25rem}
section>ul:not(.tiles){max-width:46rem;padding-left:1.2rem}
li+li{margin-top:.35rem}
.tiles{list-style:none;display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));
gap:.75rem;margin:0 0 1.25rem;padding:0}
.tiles li{margin:0;padding:.85rem 1rem;background:var(--card);border:1px solid var(--line);
border-radius:.5rem}
.tiles strong{display:block;font-size:1.4rem;line-height:1.25;color:var(--mark);
font-variant-numeric:tabular-nums}
.tiles small{font-size:.875rem;font-weight:400}
.tiles span{font-size:.875rem;color:var(--soft)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem;
align-items:start}
.tables{grid-template-columns:repeat(auto-fit,minmax(min(100%,33rem),1fr))}
figure,.table,pre{margin:0;background:var(--card);border:1px solid var(--line);border-radius:.5rem}
figure,.table{padding:.75rem;min-width:0}
figure svg{display:block;width:100%;height:auto}
svg *{stroke-linejoin:round;stroke-linecap:butt}
figcaption,.note,caption{font-size:.875rem;color:var(--soft)}
figcaption{margin-top:.5rem}
figcaption b,caption{color:var(--ink)}
.note{margin:.5rem 0 0}
.scroller{overflow-x:auto;max-width:100%}
.scroller:focus-visible{outline:2px solid var(--mark);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums;
overflow-wrap:normal}
caption{text-align:left;font-weight:600;padding-bottom:.5rem}
th,td{padding:.3rem .6rem;text-align:right;vertical-align:bottom;
border-bottom:1px solid var(--line)}
td{white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{font-weight:600;color:var(--soft)}
tbody th{font-weight:400;min-width:7rem;max-width:22rem;overflow-wrap:anywhere}
tbody tr:last-child>*{border-bottom:0}
.settings td{text-align:left;white-space:normal;overflow-wrap:anywhere}
.settings thead{display:none}
.wide{margin-bottom:1rem}
pre{margin:0;padding:.85rem 1rem;font:.8125rem/1.5 ui-monospace,SFMono-Regular,Consolas,monospace;
width:max-content;min-width:100%}

@media print{@page{margin:14mm}
body{max-width:none;padding:0;font-size:10pt;background:#fff}
h2,h3,caption{break-after:avoid}
figure,.tiles,.tiles li,tr,li{break-inside:avoid}
figure,.table,.tiles li,pre{border-color:#bbb}
.grid{display:block}
.grid .table{margin-bottom:.75rem}
figure{display:inline-block;width:49.2%;vertical-align:top;margin:0 0 .5rem}
.scroller{overflow:visible}
table{font-size:8pt}th,td{padding:.15rem .3rem}
pre{white-space:pre-wrap;width:auto;font-size:8pt}}
"""
#: Whatever a page holds, a browser that reads this fetches nothing and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">{title}<style>{sheet}</style></head>
<body><main>{body}</main></body></html>
"""


def write_page(title: str, body: Markup) -> str:
    """Put a body into a page that needs nothing else."""
    dark = f":root{{{_DARK}{colours_css(body, dark=True)}}}"
    dark = f"@media screen and (prefers-color-scheme:dark){{{dark}}}"
    sheet = f":root{{{_LIGHT}{colours_css(body, dark=False)}}}\n{dark}{_STYLE}"
    return _PAGE.format(policy=_POLICY, title=tag("title", title), sheet=sheet, body=body)
