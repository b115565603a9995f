"""What the site needs in addition to MkDocs: tabs, diagrams, links out of the manual, and a search that works in files."""

import pathlib
import re

SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
WORKER = pathlib.Path(__file__).with_name("worker.js")

STYLE = pathlib.Path(__file__).with_name("site.css")

# Fences of these languages, one after another, are one snippet in several languages.
LANGUAGES = {"python": "Python", "go": "Go", "rust": "Rust", "javascript": "JavaScript"}

IMAGE = re.compile(r'<img [^>]*src="(images/[\w-]+\.svg)"[^>]*>')
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) { (.*) }")

OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)\s]+)\)|\]\((advisories/[^)\s]*|snippets/[^)\s]*)\)")


def on_config(config):
    """Adds the styles of the site to its pages."""
    config.extra_css.append("assets/stylesheets/site.css")
    return config


def tabbed(markdown):
    """Makes tabs of snippets that follow each other in different languages."""
    lines, out, group, i = markdown.split("\n"), [], [], 0
    while i < len(lines):
        if lines[i].startswith("```"):
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            block, language = lines[i : end + 1], lines[i][3:].strip()
            i = end + 1
            if language in LANGUAGES:
                if any(language == other for other, _ in group):
                    out += tabs(group)
                    group = []
                group.append((language, block))
                continue
            out += tabs(group) + block
            group = []
            continue
        if lines[i].strip() or not group:
            out += tabs(group)
            group = []
            out.append(lines[i])
        i += 1
    return "\n".join(out + tabs(group))


def tabs(group):
    """Returns the lines of a group of snippets: tabs, if there are several."""
    if len(group) == 1:
        return [*group[0][1], ""]
    lines = []
    for language, block in group:
        lines += [f'==={"" if lines else "!"} "{LANGUAGES[language]}"', "", *("    " + line if line else "" for line in block), ""]
    return lines


def on_page_markdown(markdown, *, page, config, files):
    """Makes tabs, and lets links that leave the folder, such as ../CHANGELOG.md, lead to the repository on the forge."""
    root = config.extra["repository"] + "/blob/main/"

    def replaced(match):
        inside = match.group(2)
        return f"]({root}{'docs/' + inside if inside else match.group(1)})"

    return OUTSIDE.sub(replaced, tabbed(markdown))


def on_page_content(content, *, page, config, files):
    """Puts diagrams and the recording into their pages, where they have the colours of the chosen palette."""

    def inlined(match):
        svg = (pathlib.Path(config.docs_dir) / match.group(1)).read_text(encoding="utf-8")
        if 'class="diagram"' not in svg and 'class="recording"' not in svg:
            return match.group(0)
        return DARK.sub(r'[data-md-color-scheme="slate"] \1', svg).replace("\n", " ")

    return IMAGE.sub(inlined, content)


def on_post_page(output, *, page, config):
    """Replaces the script of another server, with which the search works in files, by one of the site."""
    return SHIM.sub('<script src="assets/javascripts/worker.js"></script>', output)


def on_post_template(output_content, *, template_name, config):
    """Does the same for pages that are not of the manual."""
    return on_post_page(output_content, page=None, config=config)


def on_post_build(*, config):
    """Adds the script and the styles to the site."""
    assets = pathlib.Path(config.site_dir) / "assets"
    (assets / "javascripts/worker.js").write_text(WORKER.read_text())
    (assets / "stylesheets/site.css").write_text(STYLE.read_text())
