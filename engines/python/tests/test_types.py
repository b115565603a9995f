"""The stubs of the package `kopf`: mypy checks operators against them as against the types of the reference."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]
STUBS = ROOT / "engines" / "python" / "lib"
OPTIONS = ["--check-untyped-defs", "--ignore-missing-imports", "--no-error-summary", "--cache-dir", str(ROOT / ".cache" / "mypy" / "cache")]

# What only the stubs have: the additions of this project.
ADDITIONS = {"API", "APIError", "RequestError", "Response", "api", "config", "fetch", "wants"}

# Operators that the types of the reference refuse, though it runs them: its types have no indices, which operators get by
# their ids, no attempts of timers, and no plain dicts that events are about.
REFUSED_THERE = {"04-events", "13-hooks", "15-timers", "16-indexing", "99-all-at-once"}


def command(script):
    """Return what a script of the project prints; None without the tool."""
    done = subprocess.run([ROOT / "scripts" / script], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.strip()
    if os.environ.get("CI") == "true":
        raise RuntimeError(f"{script}: {done.stderr}")
    return None


def problems(mypy, files, *options, **environment):
    """Return the errors that mypy finds in files of the folder: their texts by files and lines."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        done = subprocess.run([mypy, *OPTIONS, *options, *sorted(files)], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, **environment})
    found = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"(\S+?):(\d+): error: (.*)", line):
            found.setdefault((match[1], int(match[2])), []).append(match[3])
    if done.returncode not in (0, 1) or done.returncode == 1 and not found:
        raise RuntimeError(done.stdout + done.stderr)
    return found


def operators(*patterns):
    """Return the texts of operators, by names that modules can have."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return {re.sub(r"\W", "_", str(path.relative_to(ROOT).with_suffix(""))) + ".py": path.read_text() for path in paths}


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mypy = command("mypy.sh")
        if cls.mypy is None:
            raise unittest.SkipTest("there is no mypy")

    def ours(self, files):
        return problems(self.mypy, files, MYPYPATH=str(STUBS))

    def theirs(self, files):
        kopf = command("reference.sh")
        if kopf is None:
            self.skipTest("there is no reference")
        return problems(self.mypy, files, "--python-executable", str(Path(kopf).with_name("python3")))

    def test_operators_fit_the_stubs(self):
        files = operators("examples/*/example.py", "examples/*/operator.py", "docs/snippets/python/*.py", "test/guests/python/*/*.py")
        self.assertGreater(len(files), 18)
        self.assertEqual(self.ours(files), {})

    def test_operators_fit_the_types_of_the_reference(self):
        files = operators("examples/*/example.py")
        refused = {re.sub(r"\W", "_", f"examples/{name}/example") + ".py" for name in REFUSED_THERE}
        self.assertEqual({name for name, _ in self.theirs(files)}, refused)

    def test_wrong_uses_are_refused_line_by_line(self):
        text = Path(__file__).with_name("wrong.py").read_text()
        wanted = {n: match[1] for n, line in enumerate(text.splitlines(), 1) if (match := re.search(r"  # (.+)$", line))}
        for name, check in (("stubs", self.ours), ("reference", self.theirs)):
            found = {line: "\n".join(messages) for (_, line), messages in check({"wrong.py": text}).items()}
            with self.subTest(types=name):
                self.assertEqual(sorted(found), sorted(wanted))
            for line, words in wanted.items():
                with self.subTest(types=name, line=line):
                    self.assertIn(words, found.get(line, "")) if name == "stubs" else None

    def test_stubs_have_the_names_of_the_reference(self):
        import kopf  # the library

        names = set(Path(__file__).with_name("names.txt").read_text().split()) | ADDITIONS
        public = {name for name in vars(kopf) if not name.startswith("_")}
        lines = ["import kopf", "import kopf.testing", *(f"kopf.{name}" for name in sorted(names))]
        self.assertEqual(self.ours({"names.py": "\n".join(lines)}), {})
        self.assertEqual(sorted(public - names - {"testing", "cli", "handler_var"}), [])


if __name__ == "__main__":
    unittest.main()
