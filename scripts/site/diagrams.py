#!/usr/bin/env python3
"""Draws the diagrams of the manual into docs/images: scripts/site/diagrams.py [FOLDER]

They are SVG without scripts, fonts or files of others, so forges show them, too. Their colours are custom
properties: a viewer that prefers dark gets dark ones, and the site sets those of the chosen palette (see hooks.py).
"""

import html
import pathlib
import sys

LIGHT = "--paper: #ffffff; --ink: #1f2328; --quiet: #57606a; --line: #6e7781; --box: #f3f5f8; --zone: #e7ecf3; --mark: #3b4cb8; --wash: #e3e7fb"
DARK = "--paper: #14171b; --ink: #e6e9ee; --quiet: #a5adb8; --line: #8b949e; --box: #23272e; --zone: #1b1f25; --mark: #9fb0ff; --wash: #2a3052"
STYLE = f"""
.diagram {{ {LIGHT} }}
@media (prefers-color-scheme: dark) {{ .diagram {{ {DARK} }} }}
.diagram text {{ font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink) }}
.diagram .quiet {{ fill: var(--quiet); font-size: 13px }}
.diagram .strong {{ font-weight: 600 }}
.diagram .paper {{ fill: var(--paper) }}
.diagram .box {{ fill: var(--box); stroke: var(--line) }}
.diagram .zone {{ fill: var(--zone); stroke: none }}
.diagram .mark {{ fill: var(--wash); stroke: var(--mark) }}
.diagram .arrow {{ fill: none; stroke: var(--line); stroke-width: 1.5 }}
.diagram .head {{ fill: var(--line); stroke: none }}
"""


class Diagram:
    """A drawing of boxes and arrows, in pixels from the top left."""

    def __init__(self, name, width, height, title, description):
        self.name, self.width, self.height = name, width, height
        self.title, self.description = title, description
        self.parts = []

    def text(self, x, y, words, kind="", anchor="middle"):
        kinds = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kinds}>{html.escape(words, quote=False)}</text>')

    def box(self, x, y, width, lines, height=None, kind="box"):
        """A box with centred lines, of which the first is strong and the others are quiet."""
        height = height or 18 * len(lines) + 16
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>')
        top = y + height / 2 - 9 * len(lines) + 14
        for i, line in enumerate(lines):
            self.text(x + width / 2, round(top + 18 * i, 1), line, "strong" if i == 0 else "quiet")

    def zone(self, x, y, width, height, name, kind="zone", indent=14):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" class="{kind}"/>')
        self.text(x + indent, y + 22, name, "quiet", "start")

    def arrow(self, *points, label="", at=None, anchor="start"):
        """A line through points, with a head at the last one."""
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path d="{path}" class="arrow"/>')
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        wings = [(x - 8 * dx + 5 * dy, y - 8 * dy + 5 * dx), (x - 8 * dx - 5 * dy, y - 8 * dy - 5 * dx)]
        corners = " ".join(f"{a},{b}" for a, b in [(x, y), *wings])
        self.parts.append(f'<polygon points="{corners}" class="head"/>')
        if label:
            self.text(*at, label, "quiet", anchor)

    def svg(self):
        parts = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
            f' class="diagram" role="img" aria-labelledby="{self.name}-title {self.name}-desc">\n'
            f'<title id="{self.name}-title">{html.escape(self.title)}</title>\n'
            f'<desc id="{self.name}-desc">{html.escape(self.description)}</desc>\n'
            f"<style>{STYLE}</style>\n"
            f'<rect width="{self.width}" height="{self.height}" rx="10" class="paper"/>\n{parts}\n</svg>\n'
        )


def architecture():
    d = Diagram("architecture", 520, 610, "Architecture", (
        "The API server sends events to the streams of the reactor. The reactor queues them for each object, finds out what has happened, and "
        "calls handlers through the host, which runs instances of the module in a sandbox. One patch goes back to the API server, with the results and the progress."))
    d.box(60, 14, 400, ["Kubernetes API server", "objects, with the progress of handlers in annotations"])
    d.zone(16, 112, 488, 482, "one process: kopf run")
    d.box(60, 150, 290, ["streams", "list and watch each resource"])
    d.box(60, 236, 290, ["queues", "one for each object, and a worker"])
    d.box(60, 322, 290, ["processing", "what has happened? which handlers?"])
    d.box(60, 426, 290, ["host", "limits of time, memory and requests"])
    d.zone(60, 494, 420, 86, "sandbox: WebAssembly", "paper", 160)
    d.box(80, 524, 120, ["instance"], 40, "mark")
    d.box(212, 524, 120, ["instance"], 40, "mark")
    d.box(344, 524, 120, ["instance"], 40, "mark")
    d.arrow((205, 66), (205, 150), label="events", at=(215, 96))
    d.arrow((205, 202), (205, 236))
    d.arrow((205, 288), (205, 322))
    d.arrow((160, 374), (160, 426), label="a call", at=(110, 404))
    d.arrow((250, 426), (250, 374), label="outcome, patch", at=(260, 404))
    d.arrow((205, 478), (205, 524))
    d.arrow((350, 348), (420, 348), (420, 66), label="one patch", at=(428, 250))
    return d


def cycle():
    d = Diagram("handling-cycle", 520, 690, "The handling of an event", (
        "An event waits in the queue of its object. The host updates indices and calls raw event handlers, compares the object with the state that was handled last, "
        "selects handlers and calls those that are due. It writes results, patches and progress in one patch. If handlers remain, the patch causes the next event or the host waits for a retry. "
        "Otherwise the host stores the handled state."))
    d.box(60, 14, 300, ["an event of an object", "waits in the queue of the object"])
    d.box(60, 100, 300, ["indices, raw event handlers", "for each event; daemons start and stop"])
    d.box(60, 186, 300, ["what has happened?", "the object, and the state handled last"])
    d.box(60, 272, 300, ["which handlers?", "the cause, filters, stored progress"])
    d.box(60, 358, 300, ["call a handler that is due", "in an instance of the module"], kind="mark")
    d.box(60, 444, 300, ["one patch of the object", "results, patches, progress"])
    d.box(48, 546, 152, ["not finished", "the next handler,", "or wait for a retry"])
    d.box(216, 546, 152, ["finished", "store the state,", "remove the progress"])
    for y in (66, 152, 238, 324, 410):
        d.arrow((210, y), (210, y + 34))
    d.arrow((130, 496), (130, 546))
    d.arrow((290, 496), (290, 546))
    d.arrow((48, 581), (24, 581), (24, 40), (60, 40))
    d.text(372, 206, "no state: created", "quiet", "start")
    d.text(372, 224, "a difference: updated", "quiet", "start")
    d.text(372, 242, "being deleted", "quiet", "start")
    d.text(372, 372, "succeeded: its result", "quiet", "start")
    d.text(372, 390, "failed for now: retry", "quiet", "start")
    d.text(372, 408, "failed for good", "quiet", "start")
    d.text(372, 303, "none: ignored", "quiet", "start")
    d.arrow((290, 616), (290, 660))
    d.text(290, 678, "until the next change", "quiet")
    return d


def daemons():
    d = Diagram("daemon-termination", 520, 520, "The end of a daemon", (
        "A daemon is asked to stop. After the cancellation backoff it is cancelled, after the cancellation timeout it is abandoned and the finalizer is removed, "
        "and 60 seconds later the host ends it by force. At each stage, a daemon that ends lets the object go."))
    d.box(40, 14, 290, ["the daemon runs", "as long as the object matches"], kind="mark")
    d.box(40, 124, 290, ["asked to stop", "wait() ends at once, sleep() continues"])
    d.box(40, 234, 290, ["cancelled", "its context ends, all waits fail"])
    d.box(40, 344, 290, ["abandoned", "a warning; the finalizer is removed"])
    d.box(40, 454, 290, ["ended by force"], 46)
    d.arrow((185, 66), (185, 124), label="deleted, no match, or exit", at=(195, 98))
    d.arrow((185, 176), (185, 234), label="CancellationBackoff", at=(195, 209))
    d.arrow((185, 286), (185, 344), label="CancellationTimeout", at=(195, 319))
    d.arrow((185, 396), (185, 454), label="60 seconds", at=(195, 429))
    d.box(400, 234, 106, ["it returns", "the object is", "released"])
    for y in (150, 260):
        d.arrow((330, y), (453, y), (453, 234)) if y == 150 else d.arrow((330, y), (400, y))
    return d


def replicas():
    d = Diagram("peering-replicas", 520, 834, "Peering and replicas", (
        "Peering: operators announce their priorities in a peering object, and all except the one with the highest priority pause. "
        "Replicas in the mode leader: they elect a leader by a Lease, and only the leader handles objects. "
        "Replicas in the mode shared: each object belongs to one replica, and all replicas handle objects. The leader notes the members on the Lease, "
        "and each replica renews a Lease of its own. In both modes, all replicas answer webhooks."))
    d.zone(14, 14, 492, 256, "peering: different operators or versions")
    d.box(40, 48, 190, ["operator A", "priority 100: works"], kind="mark")
    d.box(290, 48, 190, ["operator B", "priority 0: pauses"])
    d.box(150, 178, 220, ["KopfPeering “default”", "records of A and B,", "each with a lifetime"])
    d.arrow((135, 100), (135, 205), (150, 205), label="renews", at=(76, 150))
    d.arrow((385, 100), (385, 205), (370, 205), label="sees A", at=(395, 150))
    pods(d, 286, "--replicas leader: one operator, several pods", ("leads: handles objects", "waits, with full indices"), ("renews", "checks it"),
         ["Lease", "the holder,", "15 seconds"])
    pods(d, 560, "--replicas shared: one operator, several pods", ("leads, handles its objects", "handles the other objects"), ("notes", "reads"),
         ["Lease", "the holder and", "the list of members"])
    d.text(260, 698, "each renews a Lease of its own", "quiet")
    return d


def pods(d, top, name, roles, verbs, lease):
    """Two replicas and the Lease of their leader."""
    d.zone(14, top, 492, 258, name)
    for x, number, role, kind in ((40, 1, roles[0], "mark"), (290, 2, roles[1], "mark" if "handles" in roles[1] else "box")):
        d.box(x, top + 34, 190, [f"replica {number}", role], kind=kind)
    d.box(170, top + 158, 180, lease)
    d.arrow((135, top + 86), (135, top + 188), (170, top + 188), label=verbs[0], at=(76, top + 138))
    d.arrow((385, top + 86), (385, top + 188), (350, top + 188), label=verbs[1], at=(395, top + 138))
    d.text(260, top + 248, "both answer webhooks and probes", "quiet")


def shipping():
    d = Diagram("push-verify-run", 520, 590, "From the source to the cluster", (
        "The author builds a module or packs a script with its engine, and pushes it with declared rights and a signature. "
        "The host verifies the signature of the digest, compares the declared rights with the grants, compiles the module once, and runs it in the sandbox."))
    d.zone(14, 14, 492, 196, "the author")
    d.box(36, 48, 210, ["kopf build", "a module of Go, Rust, …"])
    d.box(274, 48, 210, ["operator.py, operator.js", "with their engine"])
    d.box(115, 138, 290, ["kopf push", "one artifact: code, rights, settings"], kind="mark")
    d.arrow((141, 100), (141, 138))
    d.arrow((379, 100), (379, 138))
    d.box(115, 244, 290, ["an OCI registry", "the artifact and its signature"])
    d.arrow((260, 190), (260, 244))
    d.zone(14, 330, 492, 246, "the host: kopf run, kopf serve")
    d.box(115, 364, 290, ["verify", "the signature is of this digest"])
    d.box(115, 436, 290, ["grant", "declared rights within the granted ones"])
    d.box(115, 508, 290, ["run", "compiled once, cached; in the sandbox"], kind="mark")
    d.arrow((260, 296), (260, 364))
    d.arrow((260, 416), (260, 436))
    d.arrow((260, 488), (260, 508))
    return d


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "docs/images")
    for draw in (architecture, cycle, daemons, replicas, shipping):
        diagram = draw()
        (folder / f"{diagram.name}.svg").write_text(diagram.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
