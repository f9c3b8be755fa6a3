"""Settings that an operator got wrong: one line names them, and no value of theirs is in it."""

import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping

from config.environment import Environment
from tests.config.test_deployment import PRODUCTION
from tests.conftest import ROOT

POSTGRES = {"schemes": ("postgres", "postgresql"), "default": "", "example": "postgres://user:password@host/name"}

SENTINELS = {
    "schemes": ("redis+sentinel", "rediss+sentinel"),
    "default": "",
    "example": "redis+sentinel://one:26379/name/0",
}


def environment(**values):
    class Env(Environment):
        ENVIRON = FileAwareMapping(env=values)

    return Env()


def test_what_is_not_set_has_its_default_and_white_space_does_not_count(tmp_path):
    (tmp_path / "hosts").write_text("one.example, two.example\n")
    env = environment(PORT=" 80 ", HOSTS_FILE=str(tmp_path / "hosts"))
    assert (env.int("PORT", default=1), env.int("OTHER", default=1)) == (80, 1)
    assert env.list("HOSTS", default=[]) == ["one.example", "two.example"]


def test_a_secret_may_begin_with_a_dollar():
    assert environment(SECRET="$ecret").str("SECRET", default="") == "$ecret"


@pytest.mark.parametrize(
    "url",
    [
        "postgres://user:password@host/name",
        "postgresql://user:p%40ss%2Fw%23rd@[::1]:5432/name?sslmode=require",
        "postgres://user@/name?host=%2Frun%2Fpostgresql",
        "postgres://user:password@one:5432,two:5432/name",
        "",
    ],
)
def test_a_good_address_is_taken(url):
    assert environment(URL=url).address("URL", **POSTGRES) == url


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://one/shop",
        "rediss+sentinel://:p%40ss@one:26379,two:26379,[::1]:26379/shop/2?sentinel_password=p%40ss",
    ],
)
def test_sentinels_are_taken(url):
    assert environment(URL=url).address("URL", **SENTINELS) == url


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://one:26379",
        "redis+sentinel://one:26379/",
        "redis+sentinel://one:26379/shop/two",
        "redis+sentinel://one:26379,/shop",
        "redis+sentinel:///shop",
    ],
)
def test_sentinels_without_a_host_or_the_name_of_what_they_watch_are_refused(url):
    with pytest.raises(ImproperlyConfigured, match="URL cannot be read"):
        environment(URL=url).address("URL", **SENTINELS)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://user:hunter@2/3@host/name",
        "postgres://user:hunter2/3@host/name",
        "postgres://user:hunter2#3@host/name",
        "postgres://user:5/hunter2@host/name",
        "postgres://user:5?hunter2@host/name",
        "mysql://user:hunter2@host/name",
        "user:hunter2@host/name",
        "hunter2",
    ],
)
def test_a_doubtful_address_is_refused_and_not_shown(url):
    with pytest.raises(ImproperlyConfigured, match=r"^URL cannot be read\. Write it as postgres://[^\n]+$") as refused:
        environment(URL=url).address("URL", **POSTGRES)
    assert "hunter" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_FILE: cannot read \S+/none: No such file or directory\.$"):
        environment(SECRET_FILE=str(tmp_path / "none")).str("SECRET", default="")


@pytest.mark.parametrize(
    ("program", "values", "said"),
    [
        (["manage.py", "check"], {"TRUSTED_PROXIES": "hunter2"}, "TRUSTED_PROXIES is not a number."),
        (
            ["manage.py", "check"],
            {"LOG_LEVEL": "hunter2"},
            "LOG_LEVEL is one of: DEBUG, INFO, WARNING, ERROR, CRITICAL.",
        ),
        (["manage.py", "check"], {"WEB_THREADS": "0"}, "WEB_THREADS is a whole number from 1 to 1000."),
        (["manage.py", "check"], {"ALTCHA_COST": "-1"}, "ALTCHA_COST is a whole number from 1 to 2147483647."),
        (["manage.py", "check"], {"DEBUG": "hunter2"}, "DEBUG is one of: true, false."),
        (
            ["manage.py", "check"],
            {"BASE_URL": "https://codes.example.com/verify"},
            "BASE_URL is a scheme and a host alone, such as https://codes.example.com: no path, no user.",
        ),
        (["manage.py", "migrate"], {}, "The database does not answer: connection failed:"),
        (["manage.py", "stats"], {}, "The database does not answer: connection failed:"),
        (["-c", "import config.wsgi"], {"SECRET_KEY": ""}, "SECRET_KEY is not set."),
    ],
)
def test_every_process_says_it_in_one_line(program, values, said):
    done = subprocess.run([sys.executable, *program], cwd=ROOT, env=PRODUCTION | values, capture_output=True, text=True)
    assert done.returncode in (1, 4)  # 4 for gunicorn, which then does not start the process again
    assert done.stderr.startswith(f"watchword: {said}") and done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr and "password" not in done.stderr
