"""Ninety days of one shop's traffic, in a database that is made for it: for a look at the panel, and for its pictures.

python -m website.season --keep var/season
WATCHWORD_HOME=var/season python manage.py up
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import django

from benchmarks.common.kept import migrated
from verification.contrib.public_demo.season import DAYS, OWNER, PASSWORD, SESSIONS_A_DAY, UNLUCKY, fill
from verification.contrib.public_demo.season_rows import OPERATOR, PEOPLE


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m website.season", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, required=True, help="the folder of the database that is made")
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--a-day", type=int, default=SESSIONS_A_DAY, help="verifications a day")
    options = parser.parse_args()
    os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", WATCHWORD_HOME=str(options.keep.resolve()))
    django.setup()
    from verification.contrib.text_trials.draw import draw  # which needs the models

    with migrated():
        fill(lambda line: print(line, file=sys.stderr, flush=True), days=options.days, a_day=options.a_day, draw=draw)
        print(f"The owner is {OWNER}, the password: {PASSWORD}. Somebody got no code yesterday at noon: {UNLUCKY}")
        print(f"Others, with the same password: {', '.join([*PEOPLE, OPERATOR])}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
