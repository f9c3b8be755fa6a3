"""Old and new processes share a database during an upgrade: what the previous release uses stays as it was."""

from __future__ import annotations

import re

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from tests.upgrade import versions
from tests.upgrade.additions import Judge

APP = "verification"
MOST_ALTERS = 3  # of a table in one migration


def number(version):
    return tuple(map(int, version.split(".")))


def faults_since(release, names, graph):
    """Return what the migrations that a release does not have, by their names, take away from it.

    A migration may say ``safe_since = "0.2.0"``: release 0.2.0 and those after it do without what it takes.
    """
    plan = [key for leaf in graph.leaf_nodes(APP) for key in graph.forwards_plan(leaf)]
    old = [key for key in plan if key[0] != APP or key[1] in names]
    judge = Judge(APP, graph.make_state(nodes=[key for key in old if key[0] == APP][-1:] or old))
    found = []
    for key in plan:
        if key not in old:
            faults = judge.faults(graph.nodes[key].operations)
            safe_since = getattr(graph.nodes[key], "safe_since", "")
            if not safe_since or number(safe_since) > number(release):
                found += [f"{key[1]}: {fault}" for fault in faults]
    return found


@pytest.fixture(scope="module")
def before():
    """The code of the release before, once there is one: until then tables and functions may do as they like."""
    return versions.previous_code() if versions.is_released() else versions.ROOT


def test_no_migration_of_a_release_was_edited(before):
    now = versions.migrations()
    assert {name for name, text in versions.migrations(before).items() if now.get(name) != text} == set()


def test_migrations_since_the_previous_release_only_add(before):
    assert faults_since(versions.RELEASE_BEFORE, versions.migrations(before), MigrationLoader(None).graph) == []


@pytest.fixture(scope="module")
def statements(before, django_db_setup, django_db_blocker):
    """The SQL of each migration since the previous release, by its name."""
    with django_db_blocker.unblock():
        loader = MigrationLoader(None)
        plan = loader.graph.forwards_plan(loader.graph.leaf_nodes(APP)[0])
        released = versions.migrations(before)
        new = [key for key in plan if key[0] == APP and key[1] not in released]
        state, found = loader.project_state(new[:1], at_end=False), {}
        for key in new:
            migration = loader.graph.nodes[key]
            with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
                state = migration.apply(state, editor, collect_sql=True)
            found[key[1]] = "\n".join(editor.collected_sql)
    return found


def alters(statements):
    """The tables of the previous release that each migration alters, as often as it does."""
    made = set(re.findall(r'CREATE TABLE "(\w+)"', "\n".join(statements.values())))
    tables = {name: re.findall(r'ALTER TABLE "(\w+)"', sql) for name, sql in statements.items()}
    return {name: [table for table in altered if table not in made] for name, altered in tables.items()}


def test_tables_that_are_new_are_not_counted():
    made = {"1": 'CREATE TABLE "a" ();', "2": 'ALTER TABLE "a" ADD x; ALTER TABLE "b" ADD y;'}
    assert alters(made) == {"1": [], "2": ["b"]}


def test_a_migration_alters_one_table_of_the_previous_release(statements):
    """A migration that has one and waits for another would end the requests that wait the other way round."""
    assert {name: tables for name, tables in alters(statements).items() if len(set(tables)) > 1} == {}


def test_a_migration_that_adds_much_to_a_table_does_so_in_one_statement(statements):
    """Between two of them Django builds all models anew, in 0.15 s, and requests wait for the table that is locked."""
    assert {name: tables for name, tables in alters(statements).items() if len(tables) > MOST_ALTERS} == {}


@pytest.mark.parametrize(("safe_since", "is_refused"), [("", True), ("0.1.0", False), ("0.2.0", True)])
def test_what_no_release_uses_any_more_may_go(safe_since, is_refused):
    graph = MigrationLoader(None).graph
    (last,) = graph.leaf_nodes(APP)
    added = type("Migration", (migrations.Migration,), {"operations": [migrations.RemoveField("session", "language")]})
    if safe_since:
        added.safe_since = safe_since
    graph.add_node((APP, "9999_next"), added("9999_next", APP))
    graph.add_dependency(None, (APP, "9999_next"), last)
    found = faults_since("0.1.0", versions.migrations(), graph)
    assert [fault.partition(":")[0] for fault in found] == ["9999_next"] * is_refused


INT = models.IntegerField
PROBE = migrations.CreateModel("Probe", [("id", models.BigAutoField(primary_key=True)), ("name", models.TextField())])
ADDITIONS = [
    migrations.AddField("session", "probe", INT(null=True)),
    migrations.AddField("session", "probe", INT(db_default=0)),
    migrations.AddField("session", "probe", models.DateTimeField(db_default=Now())),
    migrations.AddField(
        "message", "probe", models.ForeignKey(APP + ".project", models.CASCADE, null=True, db_index=False)
    ),
    migrations.CreateModel("Probe", [("id", models.BigAutoField(primary_key=True)), ("name", models.TextField())]),
    migrations.AlterField("project", "name", models.CharField(max_length=10_000)),
    migrations.RunSQL("ALTER TABLE verification_session ADD COLUMN probe integer; DROP INDEX CONCURRENTLY a"),
    migrations.RunSQL("ALTER TABLE verification_session ALTER COLUMN language DROP NOT NULL"),
    AddIndexConcurrently("session", models.Index(fields=["created_at"], name="probe")),
    migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("session", "language")]),
]
NARROWINGS = [
    (migrations.AddField("session", "probe", INT(default=0)), "insert rows without it"),
    (migrations.AddField("session", "probe", INT(null=True, db_index=True)), "locks the table"),
    (migrations.RemoveField("session", "language"), "may use"),
    (migrations.RenameField("session", "language", "tongue"), "may use"),
    (migrations.DeleteModel("Session"), "may use"),
    (migrations.RenameModel("Session", "Verification"), "may use"),
    (migrations.AlterField("project", "name", models.CharField(max_length=1)), "may use"),
    (migrations.AlterField("project", "name", models.IntegerField()), "may use"),
    (migrations.AlterField("project", "name", models.CharField(max_length=10_000, unique=True)), "may use"),
    (migrations.AddIndex("session", models.Index(fields=["created_at"], name="probe")), "locks the table"),
    (
        migrations.AddConstraint("session", models.CheckConstraint(condition=models.Q(id__gt=""), name="probe")),
        "may use",
    ),
    (migrations.RunSQL("ALTER TABLE verification_session DROP COLUMN language"), "may use"),
    (migrations.RunSQL("ALTER TABLE verification_session ALTER COLUMN language SET NOT NULL"), "may use"),
    (
        migrations.SeparateDatabaseAndState([migrations.RunSQL("ALTER TABLE a RENAME TO b")]),
        "may use",
    ),
    (migrations.AlterModelTable("session", "other"), "may use"),
]


def judged(*operations):
    return Judge(APP, MigrationLoader(None).project_state()).faults(list(operations))


@pytest.mark.parametrize("operation", ADDITIONS, ids=lambda operation: operation.describe())
def test_what_adds_is_let_through(operation):
    assert judged(operation) == []


@pytest.mark.parametrize(("operation", "said"), NARROWINGS, ids=lambda each: getattr(each, "describe", lambda: "")())
def test_what_takes_something_away_is_refused(operation, said):
    (fault,) = judged(operation)
    assert said in fault


def test_a_table_that_is_new_may_change_freely():
    changes = [migrations.RemoveField("probe", "name"), migrations.AddField("probe", "number", INT(default=0))]
    assert judged(PROBE, *changes) == []


def changed_functions(before, now):
    return {name for name, header in before.items() if now.get(name, header) != header}


def test_a_released_function_keeps_its_parameters_and_its_result(before):
    """Another signature needs another name. Beside an overload with a default, a call by name would be ambiguous, and
    PostgreSQL refuses another result. The old function stays in the database until a migration drops it.
    """
    assert changed_functions(versions.functions(before), versions.functions()) == set()


@pytest.mark.parametrize("header", ["(p_project bigint) RETURNS text", ""])
def test_a_signature_that_changed_is_found(header):
    former = versions.functions() | {"gone": "() RETURNS text"}
    now = versions.functions() | {"close_session": header}
    assert changed_functions(former, now) == {"close_session"}


def test_the_headers_that_are_read_are_those_of_all_functions(db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace")
        installed = {name for (name,) in cursor.fetchall()}
    assert set(versions.functions()) <= installed
