"""What sysconfig knows of the build: nothing, because nothing is built in the sandbox."""

build_time_vars = {}
