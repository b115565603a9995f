"""The reference's helper of tests, which cannot be here."""


class KopfRunner:
    """Runs an operator in a thread in the reference."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("kopf.testing.KopfRunner starts an operator in a thread, and there are none in the sandbox: "
                           "test the script by `kopf test`, or with the reference")
