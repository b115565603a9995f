"""An operator in an application in Python, which starts it, does its own work, and ends it.

`python3 example.py` runs the application by Kopf. `kopf run example.py` runs only the operator.
"""

import asyncio
import threading
import time

import kopf


@kopf.on.create('kopfexamples')
def create_fn(name, memo, patch, **_):
    patch.status['greeting'] = memo.get('greeting', "Hello, {name}!").format(name=name)


@kopf.on.delete('kopfexamples')
def delete_fn(name, memo, logger, **_):
    logger.info(memo.get('farewell', "Good-bye, {name}!").format(name=name))


def operator(ready, stop):
    memo = kopf.Memo(greeting="Welcome, {name}!", farewell="Farewell, {name}!")
    asyncio.run(kopf.operator(namespaces=['default'], standalone=True, ready_flag=ready, stop_flag=stop, memo=memo))


def main():
    kopf.configure(verbose=True)
    ready, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=operator, args=(ready, stop))
    thread.start()
    ready.wait()
    for minute in range(3):
        print(f"the application works, minute {minute + 1} of 3")
        time.sleep(60)
    stop.set()
    thread.join()


if __name__ == '__main__':
    main()
