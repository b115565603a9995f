# This runs pip. The current folder and the list of requirements can come from others: they get no code to run outside of the sandbox.
import sys

sys.path = [place for place in sys.path if place]  # a pip.py in the current folder is not pip


def refuse(event, args):
    """Refuse what builds a package, or fetches sources to build. The option --only-binary is about packages of an index only."""
    if event == 'subprocess.Popen':
        command = args[1] if isinstance(args[1], str) else ' '.join(map(str, args[1]))
        if sys.executable in command or command.split()[0] in ('git', 'hg', 'svn', 'bzr'):
            refusal = 'only wheels are packed, because building a package would run its code outside of the sandbox'
            print('ERROR:', refusal, file=sys.stderr)  # pip shows the frames of its own
            raise RuntimeError(refusal)


sys.addaudithook(refuse)

import runpy

runpy.run_module('pip', run_name='__main__', alter_sys=True)
