#!/usr/bin/env python3
"""Completes the picture of a terminal: scripts/site/recording.py FROM.svg TO.svg

termtosvg draws the frames of the recording. This gives the picture colours for light and dark, its last frame for
readers who want no motion, a description, and names of its own: the site puts it into pages (see hooks.py).
"""

import pathlib
import re
import sys

# What a good run shows: without it, the picture is not replaced.
WANTED = ["kopf run", "Handler 'createFn' succeeded.", "kubectl get kex", "message: hello"]
MOST = 100_000  # bytes

LIGHT = "--paper: #f6f8fa; --ink: #1f2328"
DARK = "--paper: #14171b; --ink: #e6e9ee"
TITLE = "A recording of make demo"
DESCRIPTION = (
    "A terminal: make demo starts a cluster, runs an operator of one handler, and applies an object. The operator logs that the"
    " handler has succeeded, and the object has the result in its status."
)
STYLE = f"""
.recording {{ {LIGHT} }}
@media (prefers-color-scheme: dark) {{ .recording {{ {DARK} }} }}
.recording .background {{ fill: var(--paper) }}
.recording .screen {{ fill: var(--ink); font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
"""


def complete(svg):
    """Returns the picture of a drawing of termtosvg."""
    for words in WANTED:
        if words not in svg:
            sys.exit(f"recording.py: the recording does not show {words!r}: run `make demo` and look at its end")
    frames = re.search(r"@keyframes roll \{(.*?)\n\s+\}\n", svg, re.DOTALL).group(1).split()
    duration = re.search(r"--animation-duration: (\d+)ms", svg).group(1)
    last = frames[-1].partition("{transform:")[2].rstrip("}")
    style = STYLE + (
        f"@keyframes recording {{ {' '.join(frames)} }}\n"
        f".recording .frames {{ animation: recording {duration}ms steps(1, end) infinite }}\n"
        f"@media (prefers-reduced-motion: reduce) {{ .recording .frames {{ animation: none; transform: {last} }} }}\n"
    )
    width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups()
    screen = svg[svg.index('<svg id="screen"') :].removesuffix("</svg>\n").removesuffix("</svg>").strip()
    for before, after in [
        ('<svg id="screen"', '<svg class="screen"'),
        ('<g id="screen_view">', '<g class="frames">'),
        ("xlink:href", "href"),
    ]:
        screen = screen.replace(before, after)
    screen = re.sub(r'(id="|href="#)g(\d+)"', r'\1recorded-\2"', screen)
    screen = re.sub(r' textLength="\d+"', "", screen)
    screen = re.sub(r'<text x="\d+" class="background">[^<]*</text>|<rect [^>]*class="foreground"/>', "", screen)  # the cursor
    # Rules about texts do not reach those that are used elsewhere, and browsers have rules of their own for their spaces.
    screen = screen.replace("<text ", '<text y="13" style="white-space:pre" ')
    screen = screen.replace(' class="foreground"', "")
    screen = re.sub(r">\n\s*<", "><", screen)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" class="recording" role="img"'
        f' aria-labelledby="recording-title recording-description">\n<title id="recording-title">{TITLE}</title>\n'
        f'<desc id="recording-description">{DESCRIPTION}</desc>\n<style>{style}</style>\n'
        f'<rect width="100%" height="100%" rx="6" class="background"/>\n{screen}\n</svg>\n'
    )


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    picture = complete(source.read_text(encoding="utf-8"))
    if len(picture.encode()) > MOST:
        sys.exit(f"recording.py: the picture has {len(picture.encode())} bytes, and may have {MOST}: record fewer lines")
    target.write_text(picture, encoding="utf-8")
    print(f"{target}: {len(picture.encode())} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
