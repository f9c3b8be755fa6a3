"""What is searched for before a commit, and in CI."""

import subprocess

from tests.conftest import ROOT


def test_a_key_of_a_vendor_is_found_among_secrets(tmp_path):
    leak = tmp_path / "leak.py"
    leak.write_text('TOKEN = "ghp_' + "a1B2" * 9 + '"\n')
    done = subprocess.run([ROOT / ".ci" / "secrets", leak], capture_output=True, text=True)
    assert done.returncode == 1 and "GitHub Token" in done.stdout
