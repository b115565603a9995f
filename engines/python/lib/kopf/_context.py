"""What runs now: functions that get no argument for it are about this task."""

import contextvars

task_var = contextvars.ContextVar("kopf_task")  # a Task of _tasks
handler_var = contextvars.ContextVar("handler_var")  # a Handler of _registry; its id is the full one


def here(function):
    """Return the running task. LookupError: the function is not called by a handler."""
    task = task_var.get(None)
    if task is None:
        raise LookupError(f"{function} works in handlers only: it needs the object or the operator that is handled.")
    return task


def number():
    """Return the number of the running task for host functions; 0 if none runs."""
    task = task_var.get(None)
    return 0 if task is None else task.number
