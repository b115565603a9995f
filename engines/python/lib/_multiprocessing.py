"""A stand-in for the native part of multiprocessing: packages import it and start no processes."""
