"""The floor's worker process.

python -m benchmarks.floor.worker THREADS
"""

import os
import sys
import threading

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.floor.settings"

import django

django.setup(set_prefix=False)

import dramatiq  # noqa: E402

from benchmarks.floor.tasks import broker  # noqa: E402  (reads the settings)

dramatiq.Worker(broker, worker_threads=int(sys.argv[1])).start()
threading.Event().wait()
