"""What the site needs in addition to MkDocs: links out of the manual, and a search that works in files."""

import pathlib
import re

SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
WORKER = pathlib.Path(__file__).with_name("worker.js")

OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)\s]+)\)|\]\((advisories/[^)\s]*|snippets/[^)\s]*)\)")


def on_page_markdown(markdown, *, page, config, files):
    """Lets links that leave the folder, such as ../CHANGELOG.md, lead to the repository on the forge."""
    root = config.extra["repository"] + "/blob/main/"

    def replaced(match):
        inside = match.group(2)
        return f"]({root}{'docs/' + inside if inside else match.group(1)})"

    return OUTSIDE.sub(replaced, markdown)


def on_post_page(output, *, page, config):
    """Replaces the script of another server, with which the search works in files, by one of the site."""
    return SHIM.sub('<script src="assets/javascripts/worker.js"></script>', output)


def on_post_template(output_content, *, template_name, config):
    """Does the same for pages that are not of the manual."""
    return on_post_page(output_content, page=None, config=config)


def on_post_build(*, config):
    """Adds the script to the site."""
    (pathlib.Path(config.site_dir) / "assets/javascripts/worker.js").write_text(WORKER.read_text())
